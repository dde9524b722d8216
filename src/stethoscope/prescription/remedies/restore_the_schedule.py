"""Restore the schedule on resume."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Fix, Level, Run, Splice

REMEDY = Remedy(
    cures=("learning-rate-jump", "optimizer-state-lost", "schedule-not-restored", "weights-not-restored"),
    level=Level.UNSAFE,
    proof=ClinicTrial("forgetful-resume", "restore-the-schedule", "necessary and sufficient", "+0.087 nats"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Save and load the state of the schedule too, where a finding knows how.

    The trial proves the schedule alone: what restores the optimizer too is another remedy.
    """
    for argument in cause.arguments_for:
        for finding in argument.findings:
            if finding.fix and _restores_schedule(finding.fix):
                yield from finding.fix.splices


def _restores_schedule(fix: Fix) -> bool:
    restored = [splice.text for splice in fix.splices if "state_dict" in splice.text]
    return any("sched" in text for text in restored) and not any("optim" in text for text in restored)


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    yield "save and load the state of model, optimizer, scheduler and scaler together, and load strictly"
