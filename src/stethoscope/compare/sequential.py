"""A sequential test: from which point on do differences lie beyond what is tolerated?

The differences, in units of their noise, are bet against. For each point at which a parting may have begun
there is a bet that the mean lies above the tolerated one from there on, and one that it lies below; a bet's
gain is a mixture over sizes of the shift, known in closed form. While the two runs are alike the average of
all gains is a supermartingale that begins at 1, so by Ville's inequality it ever reaches 1/alpha with a
chance of at most alpha, however long it is watched. No threshold is applied point by point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.run import Values

MOST_STARTS = 512  # points at which a parting may begin; of a longer series every second, third ...
CAPPED_AT = 4.0  # noise units beyond the tolerated: one spike, or two, are no parting
WIDTH = 4.0  # bets are spread over shifts of about 1 / sqrt(WIDTH) noise units


@dataclass(frozen=True, slots=True)
class Exceeded:
    """The position from which the mean lies beyond the tolerated, and the one at which that was sure.

    `sign` is 1 where the differences are too high and -1 where they are too low.
    """

    onset: int
    sure: int
    sign: int
    log_evidence: float


def exceeded(differences: Values, tolerated: Values, alpha: float) -> Exceeded | None:
    """Where the mean of the differences leaves the tolerated range; None where it is never sure.

    `differences` are independent, of unit variance, and finite; at most a share `alpha` of all series whose
    means stay within `tolerated` are given a place.
    """
    count = len(differences)
    if count == 0:
        return None
    starts = np.arange(0, count, -(-count // MOST_STARTS))
    capped = np.clip(differences, -(tolerated + CAPPED_AT), tolerated + CAPPED_AT)
    above, below = (_log_gains(sign * capped - tolerated, starts) for sign in (1.0, -1.0))
    wealth = _log_mean(np.logaddexp(above, below) - math.log(2.0))
    over = np.flatnonzero(wealth >= -math.log(alpha))
    if len(over) == 0:
        return None
    sure = int(over[0])
    sign = 1 if above[:, sure].max() >= below[:, sure].max() else -1
    best = int((above if sign > 0 else below)[:, sure].argmax())
    return Exceeded(int(starts[best]), sure, sign, float(wealth.max()))


def _log_gains(excess: Values, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The logarithm of each bet's gain after each point: a row for each start, 0 before it."""
    total = np.concatenate([[0.0], np.cumsum(excess)])
    ends = np.arange(1, len(total))
    sums = total[None, 1:] - total[starts][:, None]
    spread = np.maximum(ends[None, :] - starts[:, None], 0) + WIDTH
    # Half of a normal mixture: shifts of the other sign are not bet on.
    gains = 0.5 * (math.log(WIDTH) - np.log(spread)) + math.log(2.0) + _log_mixed(sums / np.sqrt(spread))
    return np.where(ends[None, :] > starts[:, None], gains, 0.0)


def _log_mean(rows: npt.NDArray[np.float64]) -> Values:
    highest = rows.max(axis=0)
    mean: Values = highest + np.log(np.exp(rows - highest).mean(axis=0))
    return mean


def _log_mixed(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log(exp(z^2 / 2) P(Z <= z)); far to the left, where the two cancel, an upper bound by Mills' ratio."""
    near, far = np.maximum(z, -1.0), np.minimum(z, -1.0)
    bound = -np.log(-far) - 0.5 * math.log(2.0 * math.pi)
    return np.where(z < -1.0, bound, 0.5 * near * near + np.log(_normal_cdf(near)))


def _normal_cdf(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """P(Z <= z) for z >= -1, by the approximation of Abramowitz and Stegun 26.2.17 (error below 1e-7)."""
    size = np.abs(z)
    t = 1.0 / (1.0 + 0.2316419 * size)
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    upper = series * np.exp(-0.5 * size * size) / math.sqrt(2.0 * math.pi)
    return np.where(z >= 0.0, 1.0 - upper, upper)
