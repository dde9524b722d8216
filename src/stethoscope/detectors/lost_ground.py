"""Did a curve give back what it had gained, at once or step by step, and to the end?

Takes errors, of which less is better. A level is a median of neighbours, so that a few batches are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Values

LEAST_POINTS = 12
LAST = 0.05  # of the values: the level at the end
FEWEST_LAST = 3
AT_ONCE = 0.6  # of the way up, between neighbouring stretches
STRETCH = 0.02  # of the values on either side of a leap
FEWEST = 2
FEWEST_BEHIND = 12  # values behind the rise, for its end to be told
FAR_ABOVE = 0.2  # of the gain: where it comes to rest
STILL = 0.15  # of what is missing comes back between the last two quarters
AGAIN = 0.2  # of the way up, and it comes down again


@dataclass(frozen=True, slots=True)
class LostGround:
    """Where the best level was, what followed, and how far above noise it is."""

    first: float
    best: float
    peak: float
    last: float
    best_at: int
    risen_at: int
    noise: float

    @property
    def gained(self) -> float:
        """What the best level is below the first."""
        return self.first - self.best

    @property
    def lost(self) -> float:
        """The share of the gain that is gone at the end."""
        return (self.last - self.best) / self.gained if self.gained > 0.0 else 0.0

    @property
    def returned(self) -> float:
        """The share of the gain that was gone at the highest level behind the best."""
        return (self.peak - self.best) / self.gained if self.gained > 0.0 else 0.0

    @property
    def falls_again(self) -> bool:
        """Whether the curve comes down from where it rose to."""
        return self.peak - self.last > AGAIN * (self.peak - self.best)


def lost_ground(values: Values) -> LostGround | None:
    """What finite values lost behind their best level; None where there are too few."""
    if len(values) < LEAST_POINTS:
        return None
    level = levels(values)
    first = max(float(np.median(values[:3])), float(values[0]))
    best_at = int(np.argmin(level))
    few = max(FEWEST_LAST, int(LAST * len(values)))
    last = float(np.median(values[-few:]))
    peak = max(float(level[best_at:].max()), last)
    noise = noise_sd(values[len(values) // 4 :])
    return LostGround(
        first, float(level[best_at]), peak, last, best_at, _risen_at(values, best_at, level), noise
    )


def leaps(values: Values, seen: LostGround) -> bool:
    """Whether most of the way up was made between two neighbouring stretches."""
    few = max(FEWEST, int(STRETCH * len(values)))
    at = seen.risen_at
    if at < few or at + few > len(values):
        return False
    before, after = float(np.median(values[at - few : at])), float(np.median(values[at : at + few]))
    return after - before >= AT_ONCE * (seen.peak - seen.best)


def rests_high(values: Values, seen: LostGround) -> bool:
    """Whether the curve has come to rest far above its best: no network is learned down once more there."""
    behind = values[seen.risen_at :]
    if len(behind) < FEWEST_BEHIND:
        return False
    quarter = len(behind) // 4
    third, fourth = float(np.median(behind[-2 * quarter : -quarter])), float(np.median(behind[-quarter:]))
    missing = fourth - seen.best
    return missing >= FAR_ABOVE * seen.gained and third - fourth <= STILL * missing


def _risen_at(values: Values, best_at: int, level: Values) -> int:
    """The place behind the best level at which neighbouring stretches differ most."""
    few = max(FEWEST, int(STRETCH * len(values)))
    places = range(max(few, best_at - few), len(values) - few + 1)
    rises = [float(np.median(values[at : at + few]) - np.median(values[at - few : at])) for at in places]
    return places[int(np.argmax(rises))] if rises else best_at
