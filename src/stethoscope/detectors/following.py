"""Does one quantity follow another?"""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.robust_stats import smoothed
from stethoscope.run import Series

FOLLOWS = 0.8  # correlation at which one explains the other
FEWEST = 4  # points that can be correlated
PARTS = 16  # the curves are smoothed over such a part of their length
MOVES = 0.2  # share of its range that the leader must move


def follows(series: Series, leader: Series, since: int) -> bool:
    """Whether finite values rise and fall with those of another series from a step on."""
    late = series.between(since, int(series.steps[-1])) if len(series) else series
    if len(late) < FEWEST or len(leader) == 0 or np.ptp(late.values) <= 0.0:
        return False
    led = np.interp(late.steps, leader.steps, leader.values)
    if np.ptp(led) <= MOVES * np.ptp(leader.values):
        return False
    width = max(1, len(late) // PARTS)
    smooth, led = smoothed(late.values, width)[width - 1 :], smoothed(led, width)[width - 1 :]
    if len(smooth) < FEWEST or np.ptp(led) <= 0.0 or np.ptp(smooth) <= 0.0:
        return False
    return float(np.corrcoef(smooth, led)[0, 1]) > FOLLOWS
