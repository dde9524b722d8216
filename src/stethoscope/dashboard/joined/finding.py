"""Which runs, documents and trials lie below a folder, and when each of them changed.

Files are opened to tell logs from others only when files come, go or begin to grow; what merely grows is
seen by its size and time.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.dashboard.houses import HERE
from stethoscope.run import Unread
from stethoscope.run.checkpoint_files import is_checkpoint
from stethoscope.run.folder import Entry, Folder, walk
from stethoscope.run.proof import RESULT, is_trial
from stethoscope.triage.index import Index
from stethoscope.triage.run_paths import UNKNOWN, Below, RunPath, runs_below
from stethoscope.triage.states import state_of
from stethoscope.triage.summary import Summary

DOCUMENT = re.compile(r"\.(?:md|markdown|txt|rst)$", re.IGNORECASE)
NO_REVIEW = re.compile(r"^(?:requirements|constraints|licen[cs]e|merges|vocab)", re.IGNORECASE)
LARGEST_DOCUMENT = 1 << 20
MOST_DOCUMENTS = 500
MOST_NOTES = 20
MOST_TOPS = 10  # folders that are looked at by themselves
BEGINNING = 1 << 16  # bytes in which a log shows what it is
SHARE = 1 / 20  # of one core, at most, that opening files takes

Stamp = tuple[int, int, int]  # files, bytes, and the last change in nanoseconds


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run: its path below the folder, what changes when it does, and when its logs were last written.

    `own` are its logs where other runs lie below it; `state` is what the index knows it by, and `known` what
    the index says.
    """

    inside: str
    stamp: Stamp
    written: float
    own: tuple[str, ...] = ()
    state: str = ""
    known: Summary | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Everything of interest below a folder; `notes` say what was not looked into."""

    runs: tuple[FoundRun, ...] = ()
    documents: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Memory:
    """What was seen at the last look."""

    index: Index | None = None
    below: Below | None = None
    beginnings: frozenset[tuple[str, int]] = frozenset()
    again_at: float = 0.0
    in_parts: bool = False
    runs: dict[str, FoundRun] = field(default_factory=dict)


def find(root: Path, shown: str, memory: Memory) -> Found:
    """Look through a folder; what cannot be looked at is named."""
    folders = list(_walked(root))
    files = [entry for folder in folders for entry in folder.files]
    runs = _runs(root, shown, files, memory)
    inside = [path for folder in folders for path in folder.folders]
    unread = [one for folder in folders for one in folder.unread] + _unknown(memory.below, shown)
    return Found(
        tuple(runs),
        tuple(entry.file for entry in files if _is_document(entry))[:MOST_DOCUMENTS],
        tuple(dict.fromkeys(_trials(root, [root, *inside]))),
        tuple(_notes(unread, memory)),
    )


def _walked(root: Path) -> Iterator[Folder]:
    """The folder's own files, then each folder in it by itself: the limits of a walk are those of one run."""
    top = walk(root, "", max_depth=0)
    tops = [path for path in top.folders if path.parent == root]
    yield Folder(top.files, tuple(tops), tuple(one for one in top.unread if "nested" not in one.reason))
    for child in tops:
        yield walk(child, child.name)


def _runs(root: Path, shown: str, files: Sequence[Entry], memory: Memory) -> list[FoundRun]:
    below = _below(root, shown, files, memory)
    parts = _parts(below.runs, files)
    found = [_run(run, root, parts.get(run.path, []), memory) for run in below.runs]
    memory.runs = {run.inside: run for run in found}
    return found


def _below(root: Path, shown: str, files: Sequence[Entry], memory: Memory) -> Below:
    """The runs, told anew where files have come, gone or begun; not all the time, where that takes long."""
    beginnings = _beginnings(files, memory.below)
    changed = beginnings ^ memory.beginnings
    if memory.below is None or ((changed or memory.in_parts) and time.monotonic() >= memory.again_at):
        began = time.process_time()
        memory.below, memory.in_parts = runs_below(root, shown), False
        memory.again_at = time.monotonic() + (time.process_time() - began) / SHARE
    elif changed:
        memory.below, memory.in_parts = _with_parts(root, shown, memory.below, changed), True
    memory.beginnings = _beginnings(files, memory.below)
    return memory.below


def _beginnings(files: Sequence[Entry], below: Below | None) -> frozenset[tuple[str, int]]:
    """The files with as much of their sizes as may tell what they are; a known log is no question."""
    logs = {str(log.path) for run in below.runs for log in run.logs} if below else set()
    return frozenset(
        (entry.file, 0 if str(entry.path) in logs else min(entry.size, BEGINNING))
        for entry in files
        if not is_checkpoint(entry)
    )


def _with_parts(root: Path, shown: str, below: Below, changed: Iterable[tuple[str, int]]) -> Below:
    """The runs with those of a few folders told anew, until there is time to look at all of them again."""
    tops = list(dict.fromkeys(file.split(os.sep)[0] for file, _ in changed))[:MOST_TOPS]
    for top in tops:
        home = root / top
        kept = tuple(run for run in below.runs if run.path != home and home not in run.path.parents)
        fresh = runs_below(home, os.path.join(shown, top)).runs if home.is_dir() else ()
        below = replace(below, runs=(*kept, *fresh))
    return below


def _parts(runs: Iterable[RunPath], files: Iterable[Entry]) -> dict[Path, list[Entry]]:
    """The files of every run: those below its folder that are not below that of another one."""
    homes = {run.path for run in runs}
    nearest: dict[Path, Path | None] = {}
    parts: dict[Path, list[Entry]] = defaultdict(list)
    for entry in files:
        folder = entry.path.parent
        if folder not in nearest:
            nearest[folder] = next((one for one in (folder, *folder.parents) if one in homes), None)
        home = entry.path if entry.path in homes else nearest[folder]
        if home is not None and not is_checkpoint(entry):
            parts[home].append(entry)
    return parts


def _run(run: RunPath, root: Path, parts: Sequence[Entry], memory: Memory) -> FoundRun:
    inside = os.path.relpath(run.path, root)
    stamp = _stamp(parts)
    before = memory.runs.get(inside)
    if before is not None and before.stamp == stamp:
        return before
    logs = {str(log.path) for log in run.logs}
    written = max((entry.changed for entry in parts if str(entry.path) in logs), default=0.0)
    own = tuple(log.file for log in run.logs) if run.holds_others else ()
    state, known = _remembered(run, memory.index if before is None else None)
    return FoundRun(inside, stamp, written, own, state, known)


def _remembered(run: RunPath, index: Index | None) -> tuple[str, Summary | None]:
    """What the index knows of a run; it is asked once, when the run is first seen."""
    state = state_of(run)
    known = index.get(os.path.abspath(run.shown), state) if index is not None else None
    return state, known


def _stamp(entries: Sequence[Entry]) -> Stamp:
    newest = max((int(entry.changed * 1e9) for entry in entries), default=0)
    return len(entries), sum(entry.size for entry in entries), newest


def _is_document(entry: Entry) -> bool:
    named = DOCUMENT.search(entry.name) and not NO_REVIEW.match(entry.name)
    return bool(named) and 0 < entry.size <= LARGEST_DOCUMENT


def _trials(root: Path, folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        file = folder / RESULT
        if is_trial(file):
            yield os.path.relpath(file, root)


def _unknown(below: Below | None, shown: str) -> list[Unread]:
    """What is a log by its name and was read by nobody, with the path that it has below the folder."""
    found = [one for one in below.unread if one.reason == UNKNOWN] if below is not None else []
    return [replace(one, file=os.path.relpath(one.file, shown)) for one in found]


def _notes(unread: Iterable[Unread], memory: Memory) -> list[str]:
    notes = [f"{one.file or HERE}: {one.reason}" for one in unread][:MOST_NOTES]
    return [*notes, memory.index.note] if memory.index is not None and memory.index.note else notes
