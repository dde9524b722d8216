"""Correct a setting that has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.edits.setting_edit import without
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

# To take out what nothing reads is tidy and moves nothing, so it is only shown.
REMEDY = Remedy(
    cures=("setting-ignored",),
    level=Level.DISPLAY,
    proof=ClinicTrial("nano-sr", "unread-eta-min", "no effect"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Take out each key that the framework does not have."""
    unknown = {(f.places[0].file, f.places[0].line) for f in cause.findings("unknown-setting")}
    for setting in run.recipe or ():
        if (setting.where.file, setting.where.line) in unknown and (splice := without(setting, run)):
            yield splice


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """One sentence per setting: which, where, and what to do."""
    for rule in ("unknown-setting", "setting-never-used"):
        for finding in cause.findings(rule):
            yield f"{finding.message} ({finding.places[0]})"
