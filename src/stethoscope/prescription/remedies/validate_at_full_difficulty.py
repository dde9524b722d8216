"""Validate at full difficulty, and keep what validates best."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

# It changes which checkpoint is called best and nothing of what is trained. The trial judges the last one, so
# that it sees no effect, and the remedy is only shown.
REMEDY = Remedy(
    cures=("validation-not-comparable", "checkpoint-chosen-wrongly"),
    level=Level.DISPLAY,
    proof=ClinicTrial("protein-sedd", "comparable-validation", "no effect"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Choose the best by what was held out, where the finding knows how."""
    for finding in cause.findings("best-by-training-loss"):
        if finding.fix:
            yield from finding.fix.splices


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    if cause.findings("validation-follows-curriculum"):
        yield "validate every checkpoint at the same, full difficulty; log that of training beside it"
    if cause.name == "checkpoint-chosen-wrongly":
        yield "keep as the best what scores best on held-out data, by one yardstick for the whole run"
