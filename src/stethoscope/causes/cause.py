"""A cause, the evidence it rests on, and what an explanation gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.findings import Finding, Found
from stethoscope.run import Where

# Weights of evidence, in natural log-odds.
WEAK = 0.5
MODERATE = 1.5
STRONG = 3.0
DECISIVE = 6.0

# How common a cause is among runs that somebody worries about, in log-odds. What is benign starts even:
# its rule fires only on the harmless form.
EVEN = 0.0
COMMON = -2.3
OCCASIONAL = -3.5
RARE = -5.0


class Outcome(StrEnum):
    """What a rule must have answered for a piece of evidence to count."""

    FOUND = "found"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A rule's outcome that speaks for a cause (positive weight) or against it (negative).

    `when` narrows it to findings that fit; a rule that was not examined never counts.
    """

    rule: str
    weight: float
    reason: str
    outcome: Outcome = Outcome.FOUND
    when: Callable[[Finding], bool] | None = None


def says(key: str, answer: bool = True) -> Callable[[Finding], bool]:
    """Narrow evidence to findings whose own evidence has this answer under this key."""
    return lambda finding: finding.evidence.get(key) is answer


def leaves_open(key: str) -> Callable[[Finding], bool]:
    """Narrow evidence to findings that asked this, and could not tell."""
    return lambda finding: key in finding.evidence and finding.evidence[key] is None


@dataclass(frozen=True, slots=True)
class Cause:
    """What a cause file declares; its name is the file's, its page the docstring.

    `leads_to` names causes that this one brings about: they are consequences, not roots.
    `shows` names rules of curves in which it shows, beside those that it cites as evidence: where the source
    or the settings speak for this cause, what those rules found speaks less for the others.
    `explains` names the rules whose findings a benign cause accounts for.
    """

    title: str
    prior: float
    evidence: tuple[Evidence, ...]
    confirm_by: str
    benign: bool = False
    leads_to: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """A cause as the catalogue knows it."""

    name: str
    cause: Cause
    summary: str
    page: str


class Standing(StrEnum):
    """How far the evidence carries a cause."""

    PROVED = "proved"
    SUPPORTED = "supported"
    PLAUSIBLE = "plausible"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Argument:
    """One piece of evidence as it was met in this run: its clearest finding, and any others like it."""

    weight: float
    reason: str
    rule: str
    family: str
    finding: Finding | None = None
    others: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings it rests on, the clearest first; none for a rule that was clear."""
        return (self.finding, *self.others) if self.finding else ()

    @property
    def where(self) -> tuple[Where, ...]:
        """Where the reader can see it."""
        return tuple(place for finding in self.findings for place in finding.places)


@dataclass(frozen=True, slots=True)
class RankedCause:
    """A cause with its probability in this run and the arguments on both sides."""

    entry: CauseEntry
    probability: float
    standing: Standing
    arguments_for: tuple[Argument, ...]
    arguments_against: tuple[Argument, ...]
    onset: int | None = None
    consequence_of: str | None = None

    @property
    def name(self) -> str:
        """The cause's slug."""
        return self.entry.name

    @property
    def stands(self) -> bool:
        """Whether it is at least supported."""
        return self.standing in {Standing.PROVED, Standing.SUPPORTED}

    def findings(self, rule: str) -> tuple[Finding, ...]:
        """What a rule found that speaks for this cause."""
        return tuple(f for a in self.arguments_for if a.rule == rule for f in a.findings)

    @property
    def where(self) -> tuple[Where, ...]:
        """The addresses of its evidence, code and settings first."""
        ordered = sorted(self.arguments_for, key=lambda argument: argument.family in CURVE_FAMILIES)
        return tuple(dict.fromkeys(place for argument in ordered for place in argument.where))


@dataclass(frozen=True, slots=True)
class BenignExplanation:
    """Something that looks alarming and is not."""

    entry: CauseEntry
    probability: float
    explains: tuple[Found, ...]
    why: str


class Means(StrEnum):
    """How a question is answered."""

    LOG = "log"
    TRY = "try"


@dataclass(frozen=True, slots=True)
class Question:
    """Something to log or to try, the causes it is about, and how much it would tell."""

    means: Means
    what: str
    decides: tuple[str, ...]
    bits: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The ranked causes, what is benign, and how the candidates "healthy" and "unknown" fared."""

    causes: tuple[RankedCause, ...]
    benign: tuple[BenignExplanation, ...]
    healthy: float
    unknown: float
    symptoms: tuple[Found, ...]  # findings above a note that nothing benign explains
    ask: tuple[Question, ...] = ()  # what to find out next, the most telling first
    # What stood still all the time, where nothing tells whether it had anything left to learn.
    standstill: Found | None = None


CURVE_FAMILIES = frozenset({"numerics", "amp", "loss", "validation", "schedule"})
