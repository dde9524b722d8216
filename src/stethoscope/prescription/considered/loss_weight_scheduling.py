"""Retune or switch off the dynamic loss weights."""

from __future__ import annotations

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import NotRecommended


def consider(case: Case) -> NotRecommended | None:
    """Not where the logged weights show that they cannot have moved the result."""
    inert = case.finding("loss-weights-barely-move")
    if inert is None:
        return None
    return NotRecommended("retuning or disabling the dynamic loss weights", inert.message, inert.places)
