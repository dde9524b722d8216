"""What cut a run short, as its output says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.run import Event, EventKind, Run, Where
from stethoscope.signals.ending import FINISHED, fatal_events, finished_before
from stethoscope.signals.ending import measure as how_it_ended
from stethoscope.signals.missing import Missing

LONGEST_QUOTE = 160  # characters of what was printed
STOPPED_IN_MLFLOW = "MLflow status KILLED"  # its word for a run that somebody stopped


class Manner(StrEnum):
    """The ways in which a run is cut short, by what its output says."""

    DEVICE_MEMORY = "device memory"
    HOST_MEMORY = "host memory"
    SHARED_MEMORY = "shared memory"
    COLLECTIVE = "collective"
    DATA_WORKER = "data worker"
    DISK = "disk"
    SCHEDULER = "scheduler"
    KILLED = "killed"
    INDEX = "index"
    DEVICE = "device"
    LOGGER = "logger"
    NUMERIC = "numeric"
    CRASHED = "crashed"
    EXCEPTION = "exception"


@dataclass(frozen=True, slots=True)
class CutShort:
    """The event that cut a run short, and what was printed with it."""

    manner: Manner
    event: Event
    others: tuple[Event, ...] = ()

    @property
    def quote(self) -> str:
        """What was printed, in short."""
        said = self.event.message.strip().rstrip(".")
        return said if len(said) <= LONGEST_QUOTE else f"{said[:LONGEST_QUOTE].rstrip()} ..."

    @property
    def raised_in(self) -> str:
        """The innermost place in a program of the user's own: "train.py:88 in main"."""
        own = [frame for frame in self.event.frames if not _INSTALLED.search(frame)]
        return own[-1] if own else ""

    @property
    def where(self) -> tuple[Where, ...]:
        """The line of the log that says so, then the lines of its consequences."""
        events = (self.event, *self.others[:2])
        return tuple(dict.fromkeys(Where(event.file, line=event.line) for event in events))


@dataclass(frozen=True, slots=True)
class AbruptEnd:
    """What cut a run short; None where nothing did. `afterwards` says that the training itself was over."""

    cut_short: CutShort | None
    afterwards: bool = False

    def by(self, *manners: Manner) -> CutShort | None:
        """What cut the run short, where it was in one of these ways."""
        if self.cut_short is None or self.cut_short.manner not in manners:
            return None
        return self.cut_short


def measure(run: Run) -> AbruptEnd | Missing:
    """Read the end of the run from what its logs announce; a table of numbers announces nothing."""
    fatal = fatal_events(run)
    if fatal:
        return AbruptEnd(_cut_short(fatal[0], fatal[1:]), finished_before(run))
    if run.logs and (run.events or how_it_ended(run).how == FINISHED):
        return AbruptEnd(None)
    return Missing(
        "nothing in the logs says how the run ended", log_this="python train.py 2>&1 | tee train.log"
    )


def _cut_short(event: Event, others: tuple[Event, ...]) -> CutShort | None:
    decided = event.kind in (EventKind.STOPPED_BY_USER, EventKind.STOPPED_BY_GUARD)
    if decided or event.message == STOPPED_IN_MLFLOW:
        return None
    return CutShort(_manner(event), event, others)


def _manner(event: Event) -> Manner:
    said = event.message
    match event.kind:
        case EventKind.OUT_OF_MEMORY:
            return Manner.DEVICE_MEMORY if _ON_THE_DEVICE.search(said) else Manner.HOST_MEMORY
        case EventKind.COLLECTIVE_TIMEOUT:
            return Manner.COLLECTIVE
        case EventKind.DISK_FULL:
            return Manner.SHARED_MEMORY if "/dev/shm" in said else Manner.DISK
        case EventKind.DATA_WORKER_DIED:
            return _of_a_worker(said)
        case EventKind.DEVICE_ASSERT:
            return Manner.INDEX if _BOUNDS.search(said) else Manner.DEVICE
        case EventKind.KILLED:
            return Manner.SCHEDULER if _ASKED_TO_STOP.search(said) else Manner.KILLED
        case EventKind.CRASHED:
            return Manner.DEVICE if _DEVICE_FAULT.search(said) else Manner.CRASHED
        case _:
            return _of_an_exception(event)


def _of_a_worker(said: str) -> Manner:
    if _SHARED_MEMORY.search(said):
        return Manner.SHARED_MEMORY
    return Manner.SCHEDULER if "signal: Terminated" in said else Manner.DATA_WORKER


def _of_an_exception(event: Event) -> Manner:
    said = event.message
    if _NOT_A_NUMBER.search(said):
        return Manner.NUMERIC
    if _INDEX.search(said):
        return Manner.INDEX
    if _DEVICE_FAULT.search(said):
        return Manner.DEVICE
    if _SHARED_MEMORY.search(said):
        return Manner.SHARED_MEMORY
    if _COLLECTIVE.search(said):
        return Manner.COLLECTIVE
    network = _NETWORK.search(said) and any(_LOGGERS.search(frame) for frame in event.frames)
    if network or _LOGGER_ERROR.search(said):
        return Manner.LOGGER
    return Manner.EXCEPTION


_ON_THE_DEVICE = re.compile(
    r"\b(?:CUDA|HIP|MPS|XPU|NPU|GPU|CUBLAS\w*|TPU|hbm|cuda|OutOfMemoryError|RESOURCE_EXHAUSTED)\b"
)
_SHARED_MEMORY = re.compile(
    r"insufficient shared memory|\bshm\b|/dev/shm|[Bb]us error|"
    r"unable to (?:open|write|mmap|resize) .{0,40}shared memory"
)
_BOUNDS = re.compile(
    r"n_classes|[<>]=?\s*(?:num_?classes|n_class|size|num_embeddings|sizes?\[|index_size)|"
    r"out of bounds|out of range|ind >= 0|srcIndex|idx_dim|t >= 0"
)
_INDEX = re.compile(
    r"\bTarget -?\d+ is out of bounds|index out of range in self|"
    r"Class values must be smaller than num_classes|"
    r"^\s*IndexError: index -?\d+ is out of bounds for dimension"
)
_ASKED_TO_STOP = re.compile(
    r"DUE TO|CANCELLED|SIGTERM|Terminated|TERM_|job killed|[Pp]reempt|"
    r"signal: ?15|\b(?:-15|143)\b|timed out|[Ss]pot\b"
)
_NOT_A_NUMBER = re.compile(
    r"^FloatingPointError\b|\b(?:nan|inf|infinity|infinite|non-?finite|not finite|"
    r"diverged|exploding|loss scale)\b",
    re.IGNORECASE,
)
_DEVICE_FAULT = re.compile(
    r"ECC error|\bXid\b|hardware error|illegal memory access|unspecified launch failure|misaligned address|"
    r"CUDA error: (?:unknown error|an illegal instruction)|NVLink|fallen off the bus"
)
_COLLECTIVE = re.compile(
    r"\b(?:NCCL|[Gg]loo|DistBackendError|DistStoreError|c10d)\b.{0,200}\b(?:[Tt]imed? ?out|unhandled)"
)
_NETWORK = re.compile(
    r"(?:Connection|Timeout|HTTP|SSL|Network|Comm|Proxy|BrokenPipe)\w*(?:Error|Exception)?\b|"
    r"Max retries exceeded|Read timed out|Temporary failure in name resolution"
)
_LOGGER_NAMES = r"(?:wandb|mlflow|comet_ml|neptune|clearml|swanlab|aim|trackio)"
_LOGGERS = re.compile(rf"[/\\]{_LOGGER_NAMES}[/\\]")
_LOGGER_ERROR = re.compile(
    rf"^{_LOGGER_NAMES}[\w.]*\.(?:\w*Comm\w*|\w*Connection\w*|\w*Timeout\w*|MlflowException)\b"
)
_INSTALLED = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python\d|<frozen |<string>|[/\\]bin[/\\]")
