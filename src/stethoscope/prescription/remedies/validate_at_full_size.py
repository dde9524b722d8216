"""Validate at full size."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("validation-not-comparable",),
    level=Level.SAFE,
    proof=ClinicTrial("nano-sr", "validation-at-full-size", "changes the yardstick"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Take the shrinking out of the validation path."""
    for finding in cause.findings("validation-resizes"):
        if finding.fix:
            yield from finding.fix.splices


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the edit does not do."""
    yield "evaluate the kept checkpoints again with the corrected validation: the old scores do not compare"
    if cause.findings("validation-resizes"):
        yield "where full size needs too much memory, validate in overlapping tiles instead of shrinking"
