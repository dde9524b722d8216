"""What one log file gave: series, events, and the documents dumped inside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stethoscope.run.series import Series


class EventKind(StrEnum):
    """What a line of a log announces."""

    STARTED = "started"
    RESUMED = "resumed"
    FINISHED = "finished"
    STOPPED_BY_USER = "stopped by user"
    STOPPED_BY_GUARD = "stopped by Guard"
    CHECKPOINT = "checkpoint saved"
    NON_FINITE = "non-finite message"
    OVERFLOW = "overflow message"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    COLLECTIVE_TIMEOUT = "collective timeout"
    DATA_WORKER_DIED = "data worker died"
    DISK_FULL = "disk full"
    DEVICE_ASSERT = "device assert"
    CRASHED = "crashed"
    TRACEBACK = "traceback"
    FRAMEWORK_WARNING = "warning of the framework"


@dataclass(frozen=True, slots=True)
class Event:
    """A line of a log that says something about the run, with the line it stands on.

    `frames` are the places an exception passed through, the innermost last: "file:line in function".
    """

    kind: EventKind
    message: str
    file: str
    line: int
    step: int | None = None
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A text found inside a log, such as the dumped settings, and the line it begins on."""

    text: str
    syntax: str
    file: str
    first_line: int


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """One log file as its reader understood it. Series are in the order written, restarts included.

    `started` and `last_written` are Unix times where known. `total_steps` is the announced length of
    the run, if the log says it.
    """

    file: str
    format: str
    series: tuple[Series, ...] = ()
    events: tuple[Event, ...] = ()
    documents: tuple[Document, ...] = ()
    started: float | None = None
    last_written: float | None = None
    total_steps: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        """How many values the file gave."""
        return sum(len(series) for series in self.series)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or a part of one that could not be read, and why.

    `another_run` says that it was read and left out, because it tells of another run.
    """

    file: str
    reason: str
    another_run: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a run without a restart."""

    first: int
    last: int
    file: str
