"""Leave the padding out of the loss."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("padding-dilutes-loss",),
    level=Level.UNSAFE,
    proof=ClinicTrial("protein-sedd", "padding-left-out", "necessary", "+0.0262 of guessing"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Mask the padded positions, where the finding knows how."""
    for finding in cause.findings("padding-in-loss"):
        if finding.fix:
            yield from finding.fix.splices


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    if cause.findings("padding-in-loss"):
        yield "average the loss over the positions that are no padding: `(loss * mask).sum() / mask.sum()`"
    else:
        yield "average the loss over what the data holds, not over what was added to fill it up"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    yield "the loss starts higher than before: easy positions no longer count. Compare it only within a run"
