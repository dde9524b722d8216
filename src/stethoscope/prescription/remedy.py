"""A remedy, the edits it makes, and what a prescription holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stethoscope.causes import RankedCause
from stethoscope.run import Level, Run, Splice, Where

UNPROVED = "unproved"


@dataclass(frozen=True, slots=True)
class ClinicTrial:
    """The recorded trial of the clinic that shows what a remedy does.

    `found` is what it says of the change, `effect` how far the change alone moves the score, counted so that
    more is better. `undone` says that the remedy takes back what was tried.
    """

    case: str
    change: str
    found: str
    effect: str = ""
    undone: bool = False

    def __str__(self) -> str:
        found = f"{self.found}, {self.effect}" if self.effect else self.found
        undone = ", which this undoes" if self.undone else ""
        return f"clinic trial {self.case}, {self.change}: {found}{undone}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a remedy file declares: the causes it cures, how far it may be trusted, and its proof."""

    cures: tuple[str, ...]
    level: Level
    proof: ClinicTrial | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A remedy applied to one file, as a unified diff and as the splices in the text that was read.

    `read_from` is the file that the run was read from, which may be its own copy of `file`; `text` is what
    the splices count in.
    """

    remedy: str
    cures: tuple[str, ...]
    file: str
    kind: str  # "config" or "source"
    level: Level
    diff: str
    proof: str
    maintained: bool = True
    splices: tuple[Splice, ...] = ()
    read_from: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointAdvice:
    """The checkpoint to go back to, why that one, and what resuming from it would lose."""

    path: str
    step: int | None
    why: str
    loses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotRecommended:
    """What people would try here and should not, with the reason and where to see it."""

    what: str
    why: str
    where: tuple[Where, ...] = ()


@dataclass(frozen=True, slots=True)
class Prescription:
    """What to do about it."""

    checkpoint: CheckpointAdvice | None = None
    checkpoint_note: str = ""
    edits: tuple[Edit, ...] = ()
    advice: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    log_next_time: tuple[str, ...] = ()
    not_recommended: tuple[NotRecommended, ...] = ()


@dataclass(frozen=True, slots=True)
class RemedyEntry:
    """A remedy as the catalogue knows it; any of its functions may be absent.

    `splices` changes files, `advice` says what to do by hand, `expect` what the next run will show.
    """

    name: str
    remedy: Remedy
    summary: str
    splices: Callable[[RankedCause, Run], Iterable[Splice]]
    advice: Callable[[RankedCause, Run], Iterable[str]]
    expect: Callable[[RankedCause, Run], Iterable[str]]
