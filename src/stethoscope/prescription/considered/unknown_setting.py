"""Set a key that the framework does not have."""

from __future__ import annotations

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import NotRecommended


def consider(case: Case) -> NotRecommended | None:
    """Not a key that is unknown here."""
    unknown = case.finding("unknown-setting")
    if unknown is None:
        return None
    return NotRecommended("settings this framework version does not have", unknown.message, unknown.places)
