"""Correct a setting that has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import Level, Remedy
from stethoscope.run import Run

REMEDY = Remedy(cures=("setting-ignored",), level=Level.DISPLAY)


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """One sentence per setting: which, where, and what to do."""
    for rule in ("unknown-setting", "setting-never-used"):
        for finding in cause.findings(rule):
            yield f"{finding.message} ({finding.places[0]})"
