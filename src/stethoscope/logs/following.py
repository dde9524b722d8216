"""Follows logs that are being written: what was read stays read, only what was added is read on.

A file that was replaced, cut or emptied is read again from its beginning. A file that was renamed (rotated)
is still followed under its new name, and the one that took its place is followed beside it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, read_with, surest, told_by_name
from stethoscope.logs._reading.head import HEAD_BYTES, Head
from stethoscope.logs._reading.mixed_ranks import of_one_rank
from stethoscope.logs._reading.stream import Reading, begun, pour
from stethoscope.run import Log
from stethoscope.run.folder import Entry, walk

REMEMBERED = 256  # bytes before the place that was read to; other bytes there mean another file
MOST_FOLLOWED = 500  # files of one folder


@dataclass(slots=True)
class Follower:
    """One log file. `poll` reads what was added since it was last asked."""

    path: Path
    file: str = ""
    _identity: tuple[int, int] = (0, 0)
    _seen: tuple[int, int] = (-1, -1)  # size and time of change when last looked at
    _reader: ModuleType | None = None
    _reading: Reading | None = None
    _offset: int = 0
    _before: bytes = b""

    def poll(self) -> Log | None:
        """The log as far as it is written; None where nothing was added, or where it is no log (yet)."""
        try:
            return self._poll()
        except (OSError, UnreadableFile):
            return None

    def _poll(self) -> Log | None:
        status = self.path.stat()
        if (status.st_dev, status.st_ino) != self._identity:
            self._begin_again()
            self._identity = (status.st_dev, status.st_ino)
        seen = (status.st_size, status.st_mtime_ns)
        if seen == self._seen:
            return None
        self._seen = seen
        if self._was_replaced(status.st_size):
            self._begin_again()
        if self._offset < HEAD_BYTES:
            self._recognise()
        log = self._read_on()
        return None if log is None else told_by_name(of_one_rank(log), self.path)

    def _begin_again(self) -> None:
        self._reader = self._reading = None
        self._offset, self._before = 0, b""

    def _was_replaced(self, size: int) -> bool:
        """Whether what was read is no longer there."""
        if size < self._offset:
            return True
        with self.path.open("rb") as stream:
            stream.seek(self._offset - len(self._before))
            return stream.read(len(self._before)) != self._before

    def _recognise(self) -> None:
        """Say what the file is; its first lines alone may have looked like something else."""
        head = head_of(self.path, self.file or str(self.path))
        reader = surest(head)
        if reader is not self._reader or head.packing:
            self._begin_again()
            self._reader = reader
        if reader is not None and self._reading is None and hasattr(reader, "begin") and not head.packing:
            self._reading = begun(reader, head)

    def _read_on(self) -> Log | None:
        if self._reader is None:
            return None
        if self._reading is None:
            return read_with(self._reader, self._head())
        with self.path.open("rb", buffering=0) as stream:
            stream.seek(self._offset)
            taken = pour(stream, self._reading, self.file, self._seen[0], last=False)
            if taken == 0:
                return None
            self._offset += taken
            stream.seek(max(0, self._offset - REMEMBERED))
            self._before = stream.read(min(REMEMBERED, self._offset))
        return self._reading.log()

    def _head(self) -> Head:
        return head_of(self.path, self.file or str(self.path))


@dataclass(slots=True)
class FolderFollower:
    """All logs below a folder, those that appear later included."""

    root: Path
    shown: str = ""
    _followers: dict[tuple[int, int], Follower] = field(default_factory=dict)
    _logs: dict[tuple[int, int], Log] = field(default_factory=dict)

    def poll(self) -> tuple[Log, ...] | None:
        """Every log as far as it is written; None where nothing was added since last asked."""
        found = walk(self.root, self.shown or str(self.root)).files[:MOST_FOLLOWED]
        present = {key: entry for entry in found if (key := _key(entry)) is not None}
        changed = bool(self._followers.keys() - present.keys())
        for key, entry in present.items():
            follower = self._followers.setdefault(key, Follower(entry.path, entry.file))
            follower.path, follower.file = entry.path, entry.file
            log = follower.poll()
            if log is not None:
                self._logs[key] = log
                changed = True
        self._followers = {key: self._followers[key] for key in present}
        self._logs = {key: log for key, log in self._logs.items() if key in present}
        return tuple(self._logs.values()) if changed else None


def _key(entry: Entry) -> tuple[int, int] | None:
    try:
        status = os.stat(entry.path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
