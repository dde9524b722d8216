"""Writes the flight record beside a run: what was observed at each step, and what happened.

Each call is one write, and the system has it when the call returns: a program that is killed loses only what
it had not yet handed over. A thread hands the files on to the disk every few seconds. Whatever goes wrong
ends the record and never the training.

A row of fifteen columns costs 1.6 microseconds where sixteen are handed over together, and 86 bytes.
"""

from __future__ import annotations

import logging
import os
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import SPARSE, Observation
from stethoscope.run.flight_record import (
    END,
    EVENTS_KEY,
    EVENTS_SUFFIX,
    LARGEST_PAYLOAD,
    MAGIC,
    MOST_SCHEMAS,
    ROW,
    SUFFIX,
    VERSION,
    Schema,
    dumped,
    event_line,
    framed,
    packed_frame,
    record_name,
    row_packer,
    schema_frame,
    storable,
)

SYNC_SECONDS = 5.0  # between two times that a thread hands the record on to the disk
LONGEST_WAIT = 10.0  # seconds that closing waits for a disk that does not answer
MOST_EVENTS = 10_000  # warnings and notes of one record; a training that is warned of each step has been told
MOST_NAMESAKES = 100  # records that began within the same microsecond

FINISHED, FAILED, STOPPED = "finished", "failed", "stopped"
# What ends a loop or a program in good order.
_NO_FAILURES = (SystemExit, GeneratorExit, StopIteration, StopAsyncIteration)

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
_MODE = 0o666  # as any file that a program writes

_log = logging.getLogger("stethoscope.guard")


class Recorder:
    """A flight record being written, for one rank of one start of the program.

    `facts` is what is known of the run; `diagnose` understands "total_steps" and "resumed_at", a step.
    `disabled` says why nothing is recorded any more. `tell` is called with that reason once; by default it is
    logged. Without `close` the record is closed when the program ends, with what ended it.
    """

    def __init__(
        self,
        directory: Path | str,
        rank: int = 0,
        facts: Mapping[str, object] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.path: Path | None = None
        self.events_path: Path | None = None
        self.disabled: str | None = None
        self._tell = tell or _log.warning
        self._schemas: dict[tuple[str, ...], _Layout] = {}
        self._numbers = 0  # given to schemas so far
        self._events = 0
        self._files: _Files | None = None
        try:
            self._begin(rank, facts or {})
        except OSError as problem:
            self._disable(problem, self.directory)

    def rows(self, observations: Sequence[Observation]) -> None:
        """Write down some steps, in one write."""
        files = self._writable()
        if files is None or not observations:
            return
        try:
            files.write(files.rows, b"".join(self._frames(observations)))
            files.keep_synced()
            files.last_step = observations[-1].step
        except (OSError, RuntimeError) as problem:  # a thread that could not be started is no OSError
            self._disable(problem, self.path)

    def happened(self, happening: Happening) -> None:
        """Write down one thing that happened."""
        files = self._writable()
        if files is None:
            return
        if happening.kind is Kind.STOPPED:
            files.how = STOPPED
        self._events += 1
        if self._events > MOST_EVENTS and happening.severity is not Severity.CRITICAL:
            return
        line = event_line(_entries(happening))
        if self._events == MOST_EVENTS:
            line += event_line({"kind": "events-left-out", "step": happening.step, "wall": time.time()})
        try:
            files.write(files.events, line)
        except OSError as problem:
            self._disable(problem, self.events_path)

    def close(self, error: BaseException | None = None) -> None:
        """End the record; `error` is what ended the run, by default the exception being handled."""
        if self._files is not None:
            self._files.close(error)
            self._files = None
        self.disabled = self.disabled or "closed"

    def _begin(self, rank: int, facts: Mapping[str, object]) -> None:
        start = time.time()
        self.directory.mkdir(parents=True, exist_ok=True)
        rows, self.path = _created(self.directory / record_name(start, rank))
        self.events_path = self.path.with_name(self.path.name.removesuffix(SUFFIX) + EVENTS_SUFFIX)
        try:
            events = os.open(self.events_path, _FLAGS, _MODE)
        except OSError:
            os.close(rows)
            raise
        self._files = _Files(rows, events)
        # The record ends with whoever holds it, at the latest with the program.
        weakref.finalize(self, _Files.close, self._files)
        about = {"version": VERSION, "start": start, "rank": rank}
        told = {**about, "facts": facts}
        if len(dumped(told)) > LARGEST_PAYLOAD // 2:
            told = {**about, "facts": {"left out": "more than is taken down"}}
        first = {EVENTS_KEY: VERSION, "kind": "started", "wall": start, "rank": rank, "facts": told["facts"]}
        self._files.write(rows, MAGIC + schema_frame(0, Schema((), about=told)))
        self._files.write(events, event_line(first))

    def _writable(self) -> _Files | None:
        """The files, where they are this process's own to write: a forked worker leaves them alone."""
        files = self._files
        if files is None or self.disabled is not None:
            return None
        if files.owner != os.getpid():
            self.disabled = "begun by another process"
            return None
        return files

    def _frames(self, observations: Sequence[Observation]) -> list[bytes]:
        frames: list[bytes] = []
        for one in observations:
            names = tuple(one.values)
            layout = self._schemas.get(names) or self._layout(names, frames)
            try:
                packed = layout.packer.pack(ROW, layout.number, one.step, one.wall, *one.values.values())
            except (struct.error, OverflowError):
                packed = self._storable(one, frames)
            frames.append(packed_frame(packed))
        return frames

    def _storable(self, one: Observation, frames: list[bytes]) -> bytes:
        """A row of which some values are no numbers, or too large."""
        values = storable(one.values)
        names = tuple(values)
        layout = self._schemas.get(names) or self._layout(names, frames)
        return layout.packer.pack(ROW, layout.number, one.step, one.wall, *values.values())

    def _layout(self, names: tuple[str, ...], frames: list[bytes]) -> _Layout:
        """A schema for these columns; where all numbers are taken, that of the oldest is given again."""
        number = self._numbers % MOST_SCHEMAS
        self._numbers += 1
        self._schemas = {known: old for known, old in self._schemas.items() if old.number != number}
        schema = Schema(names, SPARSE.intersection(names))
        frames.append(schema_frame(number, schema))
        layout = self._schemas[names] = _Layout(number, row_packer(schema))
        return layout

    def _disable(self, problem: OSError | RuntimeError, where: Path | None) -> None:
        """End the record for good, and say so once."""
        self.disabled = getattr(problem, "strerror", None) or str(problem)
        if self._files is not None:
            self._files.abandon()
        self._tell(
            f"The flight record cannot be written any further ({where}: {self.disabled}). Training goes on "
            "without it. Try first: free some space, or give Guard a directory that can be written to."
        )


@dataclass(frozen=True, slots=True)
class _Layout:
    number: int
    packer: struct.Struct


@dataclass(slots=True)
class _Files:
    """The two files, and the thread that hands them on to the disk; apart from the Recorder, which may go."""

    rows: int
    events: int
    owner: int = field(default_factory=os.getpid)
    last_step: int | None = None
    how: str = ""
    dirty: bool = False
    thread: threading.Thread | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def write(self, file: int, data: bytes) -> None:
        """Hand over all of some bytes; a disk that is nearly full takes a part, then refuses."""
        written = os.write(file, data)
        while written < len(data):
            written += os.write(file, data[written:])
        self.dirty = True

    def keep_synced(self) -> None:
        """Begin to hand what is written on to the disk."""
        if self.thread is None:
            self.thread = threading.Thread(target=self._keep_synced, name="flight-record", daemon=True)
            self.thread.start()

    def close(self, error: BaseException | None = None) -> None:
        """Say how the record ends, and end it."""
        if self.owner != os.getpid() or self.ended.is_set():
            return
        how, why = _ending(self.how, error)
        said = {"kind": how, "step": self.last_step, "wall": time.time(), "seen": why}
        try:
            self.write(self.events, event_line(said))
            self.write(self.rows, framed(END, 0, dumped({"how": how}).encode()))
        except OSError:  # the record ends as it would if the program were killed
            pass
        self.abandon(LONGEST_WAIT)

    def abandon(self, wait: float = 0.0) -> None:
        """End the record as it is; a training that goes on does not wait for the disk."""
        if self.ended.is_set():
            return
        self.ended.set()
        if self.thread is None or not self.thread.is_alive():
            self._shut()
        elif wait:
            self.thread.join(wait)

    def _keep_synced(self) -> None:
        """What the thread does: it also closes the files, so that none is closed while it is synced."""
        while not self.ended.wait(SYNC_SECONDS):
            self._sync()
        self._sync()
        self._shut()

    def _sync(self) -> None:
        if not self.dirty:
            return
        self.dirty = False
        for file in (self.rows, self.events):
            try:
                os.fsync(file)
            except OSError:  # the next write says what is wrong
                continue

    def _shut(self) -> None:
        for file in (self.rows, self.events):
            try:
                os.close(file)
            except OSError:
                continue


def _created(stem: Path) -> tuple[int, Path]:
    """A rows file that did not exist: another start in the same microsecond has one of its own."""
    for number in range(1, MOST_NAMESAKES):
        path = stem.with_name(f"{stem.name}{f'-{number}' if number > 1 else ''}{SUFFIX}")
        try:
            return os.open(path, _FLAGS | os.O_EXCL, _MODE), path
        except FileExistsError:
            continue
    raise FileExistsError(17, "too many records of this name")


def _entries(happening: Happening) -> dict[str, object]:
    return {
        "kind": str(happening.kind),
        "step": happening.step,
        "onset": happening.onset,
        "wall": time.time(),
        "severity": str(happening.severity),
        "seen": happening.seen,
        "means": happening.means,
        "try_first": happening.try_first,
        "answer": "" if happening.answer == "none" else str(happening.answer),
        "facts": happening.facts,
    }


def _ending(how: str, error: BaseException | None) -> tuple[str, str]:
    """How a record ends, as far as this process knows: with an exception on its way, or without."""
    error = error or sys.exception() or _uncaught()
    if how:
        return how, ""
    if error is None or isinstance(error, _NO_FAILURES):
        return FINISHED, "the program ended without an error"
    said = " ".join(str(error).split())
    return FAILED, f"{type(error).__name__}: {said}" if said else type(error).__name__


def _uncaught() -> BaseException | None:
    """The exception that ended this program; an interactive session goes on after one."""
    if hasattr(sys, "ps1") or "IPython" in sys.modules:
        return None
    found = getattr(sys, "last_value", None)
    return found if isinstance(found, BaseException) else None
