"""Restore the schedule on resume."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run

REMEDY = Remedy(
    cures=("learning-rate-jump", "optimizer-state-lost", "schedule-not-restored", "weights-not-restored"),
    level=Level.UNSAFE,
    proof=ClinicTrial("forgetful-resume", "restore-the-schedule", "necessary and sufficient", "+0.087 nats"),
)


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    yield "save and load the state of model, optimizer, scheduler and scaler together, and load strictly"
