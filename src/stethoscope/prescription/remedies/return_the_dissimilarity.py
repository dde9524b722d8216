"""Return the dissimilarity instead of the similarity."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.remedy import Level, Remedy, Splice
from stethoscope.run import Run

REMEDY = Remedy(
    cures=("loss-sign-inverted",),
    level=Level.SAFE,
    proof="recorded pair examples/nano-sr and examples/nano-sr-cured",
)


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """Turn each returned similarity into its distance."""
    yield from ()


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the corrected run will show."""
    yield "the corrected term starts small and falls while its metric rises"
