"""A run of rising values at the end of a short series, and how likely that is by chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Values


@dataclass(frozen=True, slots=True)
class RisingRun:
    """`rises` consecutive increases up to the last value, from index `start`; `p` bounds their chance.

    Values in random order rise k times in a row from a given place with chance 1 / (k + 1)!, and there
    are n - k places to begin.
    """

    start: int
    rises: int
    p: float


def rising_run(values: Values) -> RisingRun:
    """The increases that end at the last of some finite values."""
    falls = np.flatnonzero(values[1:] <= values[:-1])
    start = int(falls[-1]) + 1 if len(falls) else 0
    rises = max(0, len(values) - 1 - start)
    chance = (len(values) - rises) * math.exp(-math.lgamma(rises + 2.0)) if rises else 1.0
    return RisingRun(start, rises, min(1.0, chance))
