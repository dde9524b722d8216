"""The runs below a folder, found by the beginnings of their files.

runs/sweep/0/train.csv              a folder with a log is a run,
runs/sweep/0/checkpoint-500/...     with the folders below that keep a part of it;
runs/lightning_logs/version_3       each version is one,
runs/wandb/run-2024/run-x.wandb     and each run that W&B kept
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stethoscope.errors import NothingToRead, UnreadableFile
from stethoscope.logs import head_of, surest
from stethoscope.logs.bundles import Bundle, bundled
from stethoscope.logs.run_folders import run_folders
from stethoscope.run import Log, Unread
from stethoscope.run.checkpoint_files import in_checkpoint_folder, is_checkpoint
from stethoscope.run.file_times import LogFile
from stethoscope.run.folder import Entry, Folder, walk

# What is never a log, so that a data set or a gallery beside a run does not use the walk up.
_NO_LOG = re.compile(
    r"\.(?:pyi?|pyc|sh|md|rst|png|jpe?g|gif|bmp|webp|tiff?|svg|pdf|mp4|avi|wav|flac|mp3|npy|npz|safetensors|pth|ckpt"
    r"|onnx|h5|hdf5|lmdb|mdb|so|whl|lock|ya?ml|toml|ini|cfg)$|^(?:readme|licen[cs]e|makefile|dockerfile)",
    re.IGNORECASE,
)
# What is a log by its name alone, so that one that cannot be read is missed; `train.csv` may be a data set.
_BY_NAME = re.compile(
    r"tfevents|\.wandb$|^(?:metrics?|progress|history|losses|log)[\w.-]*\.(?:csv|tsv|jsonl|ndjson)$"
    r"|^(?:train|training|metrics?)[\w.-]*\.log$",
    re.IGNORECASE,
)
_TOLD = (".log", ".out", ".err", ".stdout", ".stderr")  # what a program said ends in one of these
_TRACEBACK = b"Traceback (most recent call last)"
_LAST_BYTES = 1 << 16  # of a program's words, in which it says how it ended
MOST_UNKNOWN = 20
UNKNOWN = "a log by its name, and no reader knows what is in it"
_SUMMARY = frozenset({"wandb-summary.json", "wandb-metadata.json"})  # beside the history that they sum up


@dataclass(frozen=True, slots=True)
class RunPath:
    """A run folder, or a log that is a run by itself, and the logs in it that were recognised.

    `holds_others` says that other runs lie below it, so that only its own logs tell of it.
    """

    path: Path
    shown: str
    logs: tuple[Entry, ...]
    holds_others: bool = False


@dataclass(frozen=True, slots=True)
class Below:
    """The runs below a folder, and what was not looked into."""

    runs: tuple[RunPath, ...]
    unread: tuple[Unread, ...] = ()


def runs_below(root: Path, shown: str) -> Below:
    """Find the runs; raises NothingToRead where there is no such folder."""
    if not root.is_dir():
        if root.is_file():
            entry = _entry(root, shown)
            return Below((RunPath(root, shown, (entry,)),))
        raise NothingToRead(f"{shown} is no folder.")
    walks = list(_walked(root, shown))
    stores, alone = bundled(entry for folder in walks for entry in folder.files)
    known = {entry.path: _is_log(entry, root) for entry in alone}
    logs = [_as_log(entry) for entry in alone if known[entry.path]]
    logs += [_as_log(_standing_for(store)) for store in stores]
    homes = run_folders(logs, root)
    found: dict[Path, list[Entry]] = {}
    for log in logs:
        found.setdefault(homes[log.entry.path.parent], []).append(log.entry)
    above = {parent for path in found for parent in path.parents}
    runs = tuple(
        RunPath(path, _shown(path, root, shown), tuple(entries), path in above)
        for path, entries in found.items()
    )
    passed = [one for folder in walks for one in folder.unread if _is_worth_a_line(one)]
    unknown = [entry for entry in alone if not known[entry.path] and _BY_NAME.search(entry.name)]
    missed = [Unread(entry.file, UNKNOWN) for entry in unknown if entry.size]
    return Below(runs, (*passed, *missed[:MOST_UNKNOWN]))


def _walked(root: Path, shown: str) -> Iterator[Folder]:
    """The folder's own files, then each folder in it by itself: the limits of a walk are those of one run."""
    top = walk(root, shown, max_depth=0, wanted=_wanted)
    yield Folder(top.files)
    for child in top.folders:
        if child.parent == root:
            yield walk(child, os.path.join(shown, child.name), wanted=_wanted)


def _is_worth_a_line(one: Unread) -> bool:
    return (
        "nested" in one.reason
        or "ended here" in one.reason
        or "denied" in one.reason
        or "entries" in one.reason
    )


def _wanted(name: str) -> bool:
    return _NO_LOG.search(name) is None and name not in _SUMMARY


def _is_log(entry: Entry, root: Path) -> bool:
    if entry.size == 0 or is_checkpoint(entry) or in_checkpoint_folder(entry.path, root):
        return False
    try:
        return surest(head_of(entry.path, entry.file)) is not None or _tells_of_a_failure(entry)
    except (OSError, UnreadableFile):
        return False
    except Exception:  # a fault of a reader must not hide the other runs
        return True


def _tells_of_a_failure(entry: Entry) -> bool:
    """Whether a program's words end in an exception: it failed before it logged a number."""
    if not entry.name.lower().endswith(_TOLD):
        return False
    with entry.path.open("rb") as stream:
        stream.seek(max(0, entry.size - _LAST_BYTES))
        return _TRACEBACK in stream.read(_LAST_BYTES)


def _standing_for(store: Bundle) -> Entry:
    """One entry in the run's folder for a log that is kept in many files."""
    name = str(store.reader.KEPT_IN)
    size, changed = sum(one.size for one in store.files), max(one.changed for one in store.files)
    return Entry(store.root / name, os.path.join(store.shown, name), size, changed)


def _as_log(entry: Entry) -> LogFile:
    return LogFile(Log(entry.file, ""), entry)


def _entry(path: Path, shown: str) -> Entry:
    status = path.stat()
    return Entry(path, shown, status.st_size, status.st_mtime)


def _shown(path: Path, root: Path, shown: str) -> str:
    below = os.path.relpath(path, root)
    return shown if below == os.curdir else os.path.join(shown, below)
