"""Let the warm-up end within the run."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.findings import Finding
from stethoscope.prescription.edits.setting_edit import with_value
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

# Of the three lengths that outlast a run, the trial proves the warm-up. A curriculum that ends in time had no
# effect there, and a decay that ends with so short a run did harm: those are shown by their findings alone.
REMEDY = Remedy(
    cures=("schedule-longer-than-run",),
    level=Level.UNSAFE,
    proof=ClinicTrial("protein-sedd", "fitting-warm-up", "helpful", "+0.0271 of guessing"),
)

USUAL = 0.05  # of the run: what warm-ups mostly take


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Give a warm-up that the run never leaves a usual share of it."""
    for finding in cause.findings("warmup-longer-than-run"):
        if finding.fix:
            yield from finding.fix.splices
        elif splice := _by_way_of_others(finding, run):
            yield splice


def _by_way_of_others(finding: Finding, run: Run) -> Splice | None:
    """The same for a value that a launcher's variable or a parser's default gives."""
    length, place = finding.evidence.get("run"), finding.places[0]
    recipe = run.recipe
    for setting in (*recipe.settings, *recipe.defaults) if recipe else ():
        if setting.where == place and setting.value == finding.evidence.get("warm-up"):
            share = round(USUAL * length) if isinstance(length, int | float) else 0
            return with_value(setting, max(1, share), run)
    return None


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the edit does not decide."""
    yield "if the run was meant to be longer, train on instead: what outlasts it now would then end in time"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    if cause.findings("warmup-longer-than-run"):
        yield "the learning rate reaches its peak early in the run, and the loss falls faster from there on"
