"""Compute the overflowing part in fp32."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("forward-overflow", "loss-numerically-unsafe"),
    level=Level.UNSAFE,
    proof=ClinicTrial("deblur-fft-overflow", "transform-in-float", "sufficient", "+0.555 dB"),
)


# The rules that find what overflows and know how to take it out of half precision.
FINDING_IT = ("fft-in-half", "overflowing-sum-in-half")


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Compute in float32 what was found to overflow, where the finding knows how."""
    for rule in FINDING_IT:
        for finding in cause.findings(rule):
            if finding.fix:
                yield from finding.fix.splices


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to change by hand."""
    yield "run the module whose output first exceeds 65504 in fp32: cast its inputs and disable autocast"
    yield "where the hardware has bf16, training in bf16 without a GradScaler avoids the overflow altogether"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    yield "after each halving of the loss scale the skipped steps stop, and the scale climbs again"
