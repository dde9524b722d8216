"""Keep the checkpoint at the validation minimum."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run

REMEDY = Remedy(
    cures=("overfitting",),
    level=Level.UNSAFE,
    proof=ClinicTrial("memorising", "keep-the-minimum", "sufficient", "+1.82 nats"),
)


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    yield "keep the checkpoint at the validation minimum and stop there; for more, add data or regularisation"
