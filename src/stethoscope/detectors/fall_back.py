"""Did a score fall back between two evaluations, by most of what it had gained, and never come back?

Takes scores, of which more is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Values

BEFORE = 4  # evaluations before the fall: fewer tell no noise
MOST = 0.5  # of what was gained since the first evaluation
NOISES = 8.0  # changes between neighbours before the fall
NOT_BACK = 0.25  # of what was gained is missing at the end
AGAIN = 0.1  # of the fall is made good, step by step: the network learns once more
LONG = 4  # evaluations behind the fall, the second half of which tells whether it still learns
STILL = 0.1  # of what is missing at the end comes back in that half


@dataclass(frozen=True, slots=True)
class FallBack:
    """The fall: the first evaluation behind it, levels around it and at the end."""

    at: int
    first: float
    before: float
    after: float
    last: float
    learns_again: bool


def fall_back(values: Values) -> FallBack | None:
    """The deepest fall between neighbouring finite scores; None where none is deep and lasting."""
    if len(values) <= BEFORE:
        return None
    changes = np.diff(values)
    at = int(np.argmin(changes[BEFORE - 1 :])) + BEFORE
    left = values[:at]
    first, before, after = float(values[0]), float(np.median(left[-2:])), float(values[at])
    last = float(np.median(values[at:][-2:]))
    best, fall = float(left.max()), before - after
    gained = best - first
    steady = max(noise_sd(left), float(np.median(np.abs(np.diff(left)))))
    if gained <= 0.0 or fall < MOST * gained or fall < NOISES * steady:
        return None
    if max(float(values[at:].max()), last) > best - NOT_BACK * gained:
        return None
    learns = last - after > AGAIN * fall and not _rests(values[at:], before, last)
    return FallBack(at, first, before, after, last, learns)


def _rests(behind: Values, before: float, last: float) -> bool:
    """Whether the scores behind the fall have come to rest below what they were: nothing is learned there."""
    halfway = float(behind[len(behind) // 2])
    return len(behind) >= LONG and last - halfway <= STILL * (before - last)
