"""Correct a setting that has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.edits.yaml_edit import removed
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

# To take out what nothing reads is tidy and moves nothing, so it is only shown.
REMEDY = Remedy(
    cures=("setting-ignored",),
    level=Level.DISPLAY,
    proof=ClinicTrial("nano-sr", "unread-eta-min", "no effect"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Take out each YAML key that the framework does not have."""
    unknown = {(f.places[0].file, f.places[0].line) for f in cause.findings("unknown-setting")}
    for setting in run.recipe or ():
        config = run.recipe.file(setting.where.file) if run.recipe else None
        if (
            config is None
            or config.syntax != "yaml"
            or (setting.where.file, setting.where.line) not in unknown
        ):
            continue
        splice = removed(setting, config)
        if splice:
            yield splice


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """One sentence per setting: which, where, and what to do."""
    for rule in ("unknown-setting", "setting-never-used"):
        for finding in cause.findings(rule):
            yield f"{finding.message} ({finding.places[0]})"
