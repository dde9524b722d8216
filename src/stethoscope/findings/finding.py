"""A finding, the rule it came from, and what an examination gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stethoscope.run import Fix, Where
from stethoscope.signals import Missing


class InsufficientData(Exception):
    """Raised by a rule whose signal is there but too short to judge: it counts as not examined."""

    def __init__(self, why: str, log_this: str = "") -> None:
        super().__init__(why)
        self.log_this = log_this


class Severity(StrEnum):
    """How much a finding matters by itself. Notes never change a verdict."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


class Subject(StrEnum):
    """What a rule reads: the training source, the settings, or what the run logged."""

    SOURCE = "source"
    SETTINGS = "settings"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule file declares about itself; its name is the file's, its page the docstring."""

    code: str
    since: str
    severity: Severity = Severity.WARNING
    subject: Subject = Subject.RUN


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """What a rule saw, and where.

    `strength` in 0..1 says how clearly it was seen; `onset` is the step it began at; `proof` says by
    what argument it is certain, where it is; `severity` overrides the rule's; `fix` is the change to the
    source or settings that would mend it, where the rule can tell.
    """

    where: tuple[Where, ...] | Where
    message: str
    evidence: Mapping[str, object] = field(default_factory=dict)
    strength: float = 1.0
    onset: int | None = None
    proof: str = ""
    severity: Severity | None = None
    fix: Fix | None = None

    @property
    def places(self) -> tuple[Where, ...]:
        """All addresses of the finding, the most telling one first."""
        return self.where if isinstance(self.where, tuple) else (self.where,)


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule as the catalogue knows it."""

    code: str
    name: str
    family: str
    since: str
    severity: Severity
    subject: Subject
    summary: str
    page: str
    examine: Callable[..., Iterable[Finding]]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A finding together with its rule."""

    rule: RuleEntry
    finding: Finding

    @property
    def severity(self) -> Severity:
        """The finding's own severity, or its rule's."""
        return self.finding.severity or self.rule.severity


@dataclass(frozen=True, slots=True)
class NotExamined:
    """A rule that could not look, and why."""

    rule: RuleEntry
    missing: Missing


@dataclass(frozen=True, slots=True)
class Examination:
    """The outcome of every rule: found, clear or not examined."""

    found: tuple[Found, ...]
    clear: tuple[RuleEntry, ...]
    not_examined: tuple[NotExamined, ...]

    def of(self, rule_name: str) -> tuple[Finding, ...]:
        """The findings of one rule."""
        return tuple(found.finding for found in self.found if found.rule.name == rule_name)
