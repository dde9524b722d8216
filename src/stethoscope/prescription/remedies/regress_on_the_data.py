"""Regress a denoised output on the data that it estimates."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("preconditioning-wrong",),
    level=Level.UNSAFE,
    proof=ClinicTrial("diffusion-prior", "denoised-target", "necessary and sufficient", "+10.2 dB"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Put the data in the place of the target, where the finding knows how."""
    for finding in cause.findings("target-of-another-parameterisation"):
        if finding.fix:
            yield from finding.fix.splices


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    if any(not finding.fix for finding in cause.findings("target-of-another-parameterisation")):
        yield "make output and target one parameterisation: a denoised output is held to the clean data"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    yield "the loss is on another scale than before: compare a metric between the runs, not the loss"
