"""Keep the state of optimizer and schedule with the weights, and restore it."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("optimizer-state-lost",),
    level=Level.UNSAFE,
    proof=ClinicTrial("deblur-fft", "full-resume", "helpful", "+0.0447 dB"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Save and load what is lost, where the finding knows how."""
    for finding in cause.findings("resume-weights-only"):
        if finding.fix:
            yield from finding.fix.splices


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    yield "the loss goes on after a resume where it stood before, without a bump"
