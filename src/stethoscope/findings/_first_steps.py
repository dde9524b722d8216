"""What the first steps did to a loss that ends where it began."""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Series

LEAST_LINES = 20
FROM_THE_START = 0.02  # of the run: what is logged later does not show the first steps
FIRST = 0.25  # of the lines
NOISES = 5.0
SMALL = 0.02  # of the level


def moved_nowhere(loss: Series) -> bool:
    """Whether the first lines are there, by the step, and none of them lies off the level of all others.

    Steps that are too large leap before a network is left with guesses.
    """
    finite = loss.finite()
    if len(finite) < LEAST_LINES or finite.axis != "step":
        return False
    if int(finite.steps[0]) > FROM_THE_START * int(finite.steps[-1]):
        return False
    level = float(np.median(finite.values))
    first = finite.values[: max(5, int(FIRST * len(finite)))]
    return float(np.abs(first - level).max()) <= max(SMALL * abs(level), NOISES * noise_sd(finite.values))
