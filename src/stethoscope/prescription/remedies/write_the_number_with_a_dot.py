"""Write the number so that YAML reads a number."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.edits.yaml_edit import replaced
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Setting, Splice

REMEDY = Remedy(
    cures=("setting-ignored",),
    level=Level.SAFE,
    proof=ClinicTrial("nano-sr", "min-weight-as-written", "cannot be applied", undone=True),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Replace each such value by its spelling with a dot."""
    found = cause.findings("number-is-a-string")
    lines = {(place.file, place.line) for finding in found for place in finding.places}
    for setting in run.recipe or ():
        if (setting.where.file, setting.where.line) in lines and isinstance(setting.value, str):
            splice = replaced(setting, _with_dot(setting))
            if splice:
                yield splice


def _with_dot(setting: Setting) -> str:
    mantissa, _, exponent = setting.text.lower().partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    signed = exponent if exponent[:1] in {"+", "-"} else f"+{exponent}"
    return f"{mantissa}e{signed}"
