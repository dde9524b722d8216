"""What lint gives: findings with their addresses, what was clear, and what could not be examined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.findings import Found, NotExamined, RuleEntry, Severity
from stethoscope.lint.settings import LintSettings
from stethoscope.run import Fix, Level, Unread, Where


@dataclass(frozen=True, slots=True, eq=False)
class Linted:
    """A finding in a file that was asked about: its one main address, with a column, and the others.

    `line` is the text that stands there. `keeps` says why its fix is not applied, where that is so.
    """

    found: Found
    where: Where
    also: tuple[Where, ...] = ()
    line: str = ""
    keeps: str = ""

    @property
    def rule(self) -> RuleEntry:
        """The rule that found it."""
        return self.found.rule

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.found.severity

    @property
    def fix(self) -> Fix | None:
        """What mends it, where the rule can tell."""
        return self.found.finding.fix

    def fixable(self, unsafe: bool = False) -> bool:
        """Whether its fix may be applied."""
        levels = {Level.SAFE, Level.UNSAFE} if unsafe else {Level.SAFE}
        return self.fix is not None and bool(self.fix.splices) and self.fix.level in levels and not self.keeps


@dataclass(frozen=True, slots=True, eq=False)
class LintReport:
    """All that lint has to say. `findings` are in the order of files and lines.

    `root` is the project's folder. `ignored` counts findings that a comment or the settings make nothing of.
    `unread` could not be read, `passed` was left out on purpose. `problems` are comments that say nothing,
    with their addresses. `texts` are the files with findings or fixes, as they were read.
    """

    paths: tuple[str, ...]
    root: Path
    findings: tuple[Linted, ...] = ()
    clear: tuple[RuleEntry, ...] = ()
    not_examined: tuple[NotExamined, ...] = ()
    files: tuple[str, ...] = ()
    lines: int = 0
    context: int = 0
    programs: int = 0
    ignored: int = 0
    unread: tuple[Unread, ...] = ()
    passed: tuple[Unread, ...] = ()
    problems: tuple[tuple[Where, str], ...] = ()
    settings: LintSettings = field(default_factory=LintSettings)
    texts: Mapping[str, str] = field(default_factory=dict)
    unread_named: bool = False

    @property
    def telling(self) -> tuple[Linted, ...]:
        """The findings that count: notes never change an exit status."""
        return tuple(one for one in self.findings if one.severity is not Severity.NOTE)

    @property
    def notes(self) -> tuple[Linted, ...]:
        """The findings that only say something worth knowing."""
        return tuple(one for one in self.findings if one.severity is Severity.NOTE)

    @property
    def rules_that_looked(self) -> int:
        """How many rules could look."""
        return len({*(rule.code for rule in self.clear), *(one.rule.code for one in self.findings)})
