"""Return the dissimilarity instead of the similarity."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.run import Level, Run, Splice

REMEDY = Remedy(
    cures=("loss-sign-inverted",),
    level=Level.SAFE,
    proof=ClinicTrial("nano-sr", "similarity-as-loss", "necessary and sufficient", "+6.76 dB"),
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Turn each similarity that is minimised into its distance."""
    for finding in cause.findings("similarity-minimised"):
        if finding.fix:
            yield from finding.fix.splices


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the corrected run will show."""
    yield "the corrected term starts small and falls while its metric rises"
