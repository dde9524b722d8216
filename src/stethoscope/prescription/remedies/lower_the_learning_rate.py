"""Lower the learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run

REMEDY = Remedy(
    cures=("learning-rate-too-high",),
    level=Level.UNSAFE,
    proof=ClinicTrial(
        "too-fast", "third-of-the-rate", "necessary and sufficient", "+0.932 of saying the mean"
    ),
)


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to try, in order."""
    yield "resume from before the onset with a third of the learning rate, then a tenth if it happens again"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    if cause.onset is not None:
        yield f"the loss passes step {cause.onset:,} without rising"
