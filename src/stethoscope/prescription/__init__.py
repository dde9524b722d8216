"""prescribe: causes + run -> what to change, where to go back to, what to log."""

from __future__ import annotations

from stethoscope.causes import Explanation
from stethoscope.findings import Examination
from stethoscope.prescription.remedy import (
    CheckpointAdvice,
    Edit,
    Level,
    NotRecommended,
    Prescription,
    Remedy,
    Splice,
)
from stethoscope.run import Run

__all__ = [
    "CheckpointAdvice",
    "Edit",
    "Level",
    "NotRecommended",
    "Prescription",
    "Remedy",
    "Splice",
    "prescribe",
]


def prescribe(explanation: Explanation, examination: Examination, run: Run) -> Prescription:
    """Say what to do about the causes that stand."""
    return Prescription()
