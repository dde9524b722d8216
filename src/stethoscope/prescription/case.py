"""Everything a prescription looks at."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.causes import Explanation, RankedCause
from stethoscope.causes.verdict import stands
from stethoscope.findings import Examination, Finding
from stethoscope.run import Run, Setting


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A run with what was found in it and how that was explained."""

    run: Run
    examination: Examination
    explanation: Explanation

    @property
    def standing(self) -> tuple[RankedCause, ...]:
        """The causes that are at least supported."""
        return tuple(cause for cause in self.explanation.causes if stands(cause))

    def finding(self, rule: str) -> Finding | None:
        """The clearest finding of a rule, if it fired."""
        return max(self.examination.of(rule), key=lambda finding: finding.strength, default=None)

    def cause(self, name: str) -> RankedCause | None:
        """A cause that stands, by name."""
        return next((cause for cause in self.standing if cause.name == name), None)

    def setting(self, *leaves: str) -> Setting | None:
        """The first setting with one of these names."""
        found = self.run.recipe.named(*leaves) if self.run.recipe else ()
        return found[0] if found else None
