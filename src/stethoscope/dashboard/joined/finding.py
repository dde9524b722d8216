"""Which runs, documents and trials lie below a folder, and when each of them changed."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, surest
from stethoscope.logs.run_folders import run_folders
from stethoscope.run import Log
from stethoscope.run.checkpoint_files import in_checkpoint_folder, is_checkpoint
from stethoscope.run.file_times import LogFile
from stethoscope.run.folder import Entry, walk
from stethoscope.run.proof import RESULT, is_trial

HERE = "."
DOCUMENT = re.compile(r"\.(?:md|markdown|txt|rst)$", re.IGNORECASE)
NO_REVIEW = re.compile(r"^(?:requirements|constraints|licen[cs]e|merges|vocab)", re.IGNORECASE)
LARGEST_DOCUMENT = 1 << 20
MOST_DOCUMENTS = 500
NO_LOG = re.compile(
    r"^(?:readme|licen[cs]e|requirements|constraints|\.)"
    r"|\.(?:py|ya?ml|toml|ini|cfg|sh|md|rst|png|jpe?g|gif|svg|pdf|npy|npz|pkl|h5|zip|html|lock)$",
    re.IGNORECASE,
)

Stamp = tuple[int, int, int]  # files, bytes, and the last change in nanoseconds


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run: its path below the folder, what changes when it does, and when its logs were last written."""

    inside: str
    stamp: Stamp
    written: float


@dataclass(frozen=True, slots=True)
class Found:
    """Everything of interest below a folder; `notes` say what was not looked into."""

    runs: tuple[FoundRun, ...] = ()
    documents: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Memory:
    """Which files are logs: each is opened once, and again while it is none and grows."""

    logs: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def is_log(self, entry: Entry) -> bool:
        """Whether a file is a log, by its beginning."""
        known = self.logs.get(entry.file)
        if known is not None and (known[1] or known[0] == entry.size):
            return known[1]
        answer = _is_log(entry)
        self.logs[entry.file] = (entry.size, answer)
        return answer


def find(root: Path, memory: Memory) -> Found:
    """Look through a folder; what cannot be looked at is named."""
    folder = walk(root, "")
    logs = [LogFile(Log(entry.file, ""), entry) for entry in folder.files if memory.is_log(entry)]
    kept = [file for file in logs if not in_checkpoint_folder(file.entry.path, root)]
    homes = run_folders(kept or logs, root)
    runs = _runs(root, homes, kept or logs, folder.files)
    documents = [entry.file for entry in folder.files if _is_document(entry)]
    trials = list(_trials(root, [root, *folder.folders]))
    notes = [f"{one.file or HERE}: {one.reason}" for one in folder.unread]
    return Found(runs, tuple(documents[:MOST_DOCUMENTS]), tuple(trials), tuple(notes[:20]))


def _runs(
    root: Path, homes: dict[Path, Path], logs: Iterable[LogFile], files: Iterable[Entry]
) -> tuple[FoundRun, ...]:
    written: dict[Path, float] = defaultdict(float)
    for file in logs:
        home = homes[file.entry.path.parent]
        written[home] = max(written[home], file.entry.changed)
    parts: dict[Path, list[Entry]] = defaultdict(list)
    nearest: dict[Path, Path | None] = {}
    for entry in files:
        folder = entry.path.parent
        if folder not in nearest:
            nearest[folder] = next((one for one in (folder, *folder.parents) if one in written), None)
        home_of_it = nearest[folder]
        if home_of_it is not None and not is_checkpoint(entry):
            parts[home_of_it].append(entry)
    return tuple(
        FoundRun(os.path.relpath(home, root), _stamp(parts[home]), written[home]) for home in sorted(written)
    )


def _stamp(entries: list[Entry]) -> Stamp:
    newest = max((int(entry.changed * 1e9) for entry in entries), default=0)
    return len(entries), sum(entry.size for entry in entries), newest


def _is_log(entry: Entry) -> bool:
    if entry.size == 0 or NO_LOG.search(entry.name) or is_checkpoint(entry):
        return False
    try:
        return surest(head_of(entry.path, entry.file)) is not None
    except (OSError, UnreadableFile):
        return False
    except Exception:
        return False  # one file that a reader stumbles over must not hide all the others


def _is_document(entry: Entry) -> bool:
    named = DOCUMENT.search(entry.name) and not NO_REVIEW.match(entry.name)
    return bool(named) and 0 < entry.size <= LARGEST_DOCUMENT


def _trials(root: Path, folders: Iterable[Path]) -> Iterable[str]:
    for folder in folders:
        file = folder / RESULT
        if is_trial(file):
            yield os.path.relpath(file, root)
