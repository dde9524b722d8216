"""What a review is made of: proposals read from a document, claims judged, and what was left over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stethoscope.run import Where

UP, DOWN = "up", "down"


class Ruling(StrEnum):
    """What is said of one claim."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    NO_EFFECT = "no-effect"
    CHANGES_YARDSTICK = "changes-yardstick"
    UNKNOWN_KEY = "unknown-key"
    HARMFUL = "harmful"
    UNTESTED = "untested"


OBJECTIONABLE = frozenset(Ruling) - {Ruling.SUPPORTED, Ruling.UNTESTED}


class Kind(StrEnum):
    """What a claim is about: a setting, a checkpoint to go back to, source text, or a measured series."""

    SETTING = "setting"
    CHECKPOINT = "checkpoint"
    SOURCE = "source"
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change as a document proposes it.

    `names` are what it may be called, the likeliest first: a path of keys, or words of prose as one part.
    `to` and `before` are the texts of the values; `direction` stands where no value is given, `factor` where
    it is relative. `marked` says that the document itself points at the change, `formal` that the name was
    written as code, and `whole` that it is one line of a whole file. `block` counts the blocks of the
    document, and `call` names what takes the setting as a keyword.
    """

    text: str
    where: Where
    names: tuple[tuple[str, ...], ...]
    to: str = ""
    before: str = ""
    direction: str = ""
    factor: float | None = None
    kind: Kind = Kind.SETTING
    marked: bool = False
    formal: bool = True
    whole: bool = False
    block: int = 0
    syntax: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a document says a series did: `values` at `steps`, each of which may be missing.

    `manner` is "at" (a value at a step), "best" (the best value), "final" (the last one) or "course" (from
    the first value to the second).
    """

    text: str
    where: Where
    name: str
    manner: str
    values: tuple[str, ...]
    steps: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A sentence of the document that is neither a proposed change nor a number of a series."""

    text: str
    where: Where


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything read from one document."""

    file: str
    proposals: tuple[Proposal, ...] = ()
    observations: tuple[Observation, ...] = ()
    unparsed: tuple[Unparsed, ...] = ()
    prose: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of evidence: what is seen, where, and from which source it comes.

    `source` is "run" for what this run shows, "trial" for a trial of this run, "schema" for what a framework
    takes, and "elsewhere" for a recorded trial of another training, which proves nothing here.
    """

    what: str
    where: tuple[Where, ...] = ()
    source: str = "run"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A ruling with its reason and its evidence."""

    ruling: Ruling
    why: str
    evidence: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What a claim would change: the key as the run knows it (else as written), and the values as texts.

    `now` is the value that the run has, `written` the name in the document.
    """

    kind: Kind
    key: str
    written: str
    to: str = ""
    before: str = ""
    now: str = ""
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a document says, and the ruling on it. `where` is every place that says it."""

    document: str
    text: str
    where: tuple[Where, ...]
    change: Change
    judgement: Judgement
    settle_by: str = ""

    @property
    def ruling(self) -> Ruling:
        """The verdict in one word."""
        return self.judgement.ruling


@dataclass(frozen=True, slots=True)
class Missed:
    """A cause that stands in the diagnosis, and that no document speaks of."""

    name: str
    title: str
    probability: float
    standing: str
    why: str
    where: tuple[Where, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One key for which documents want different values: document, value and place of each."""

    key: str
    sides: tuple[tuple[str, str, Where], ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A second opinion on one or more documents. `run` is the path of the run, "" where none was given."""

    documents: tuple[str, ...]
    run: str
    claims: tuple[Claim, ...]
    unparsed: tuple[Unparsed, ...]
    missed: tuple[Missed, ...]
    contradictions: tuple[Contradiction, ...]
    notes: tuple[str, ...] = ()
    verdict: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_objectionable(self) -> bool:
        """Whether anything is wrong with what the documents say, or is missing from it."""
        return bool(self.missed) or any(claim.ruling in OBJECTIONABLE for claim in self.claims)
