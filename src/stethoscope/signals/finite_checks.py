"""Whether the source looks for values that are not finite before it steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.run import Program, Run
from stethoscope.signals.missing import NO_SOURCE, Missing

_LOOKS = re.compile(
    r"\bis_?finite\b|\bis_?nan\b|\bis_?inf\b|error_if_nonfinite\s*=\s*True|\bnan_to_num|\bGradScaler\b|\bGuard\("
)


@dataclass(frozen=True, slots=True)
class FiniteChecks:
    """`found` says that some file of the source that trains does."""

    found: bool


def measure(run: Run) -> FiniteChecks | Missing:
    """Look through the files that take gradients."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return _checks(run.program)


@remembered
def _checks(program: Program) -> FiniteChecks:
    training = [source.text for source in program if "backward" in source.text or "clip_grad" in source.text]
    return FiniteChecks(any(_LOOKS.search(text) for text in training))
