"""Does a series rise or fall, when its noise remembers itself?

Ordinary least squares takes autocorrelated noise for a trend: at a nominal 1 % it rejects half of all
trendless AR(0.9) series. Here the variance of the slope is inflated by the lag-1 autocorrelation of the
residuals and the degrees of freedom shrink with it. docs/science/detectors.md has the rates that remain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.distributions import t_quantile, t_tail
from stethoscope.detectors.robust_stats import (
    block_means,
    memory_around_a_line,
    tame,
    variance_inflation,
)
from stethoscope.run import Steps, Values

MOST_POINTS = 256  # the test's size was measured on at most this many block means
LEAST_POINTS = 8
FIRST_LEAP = 0.125  # of a curve: what the first steps do to it says nothing about the rest
SURELY = 1e-3
MOST_RANKED = 32  # stretches whose order is looked at
MOSTLY = 0.8  # of pairs: values without a trend have one half


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series: value units per step, and how sure its sign is.

    `p_rising` and `p_falling` are one-sided; `rho` is the autocorrelation of the residuals.
    """

    slope: float
    standard_error: float
    freedom: float
    change: float
    rho: float
    residual_sd: float

    @property
    def t(self) -> float:
        """The slope in units of its standard error."""
        if self.standard_error > 0.0:
            return self.slope / self.standard_error
        return math.copysign(math.inf, self.slope) if self.slope else 0.0

    @property
    def p_rising(self) -> float:
        """The chance of so steep a rise without a trend."""
        return t_tail(self.t, self.freedom)

    @property
    def p_falling(self) -> float:
        """The chance of so steep a fall without a trend."""
        return t_tail(-self.t, self.freedom)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the slope."""
        half = t_quantile(0.5 + confidence / 2.0, self.freedom) * self.standard_error
        return self.slope - half, self.slope + half


def trend(steps: Steps | Values, values: Values) -> Trend | None:
    """The trend of finite values over their steps; None for too few points to say."""
    if len(values) < LEAST_POINTS:
        return None
    x, y = block_means(np.asarray(steps, dtype=np.int64), tame(values), MOST_POINTS)
    x = x - x.mean()
    spread = float(x @ x)
    if spread <= 0.0:
        return None
    slope = float(x @ y) / spread
    residuals = y - y.mean() - slope * x
    rho = memory_around_a_line(residuals)
    inflation = variance_inflation(rho)
    freedom = max(1.0, len(y) / inflation - 2.0)
    variance = float(residuals @ residuals) / max(1.0, len(y) - 2.0)
    error = math.sqrt(variance * inflation / spread)
    return Trend(slope, error, freedom, slope * float(x[-1] - x[0]), rho, math.sqrt(variance))


def creeps_down(steps: Steps, values: Values) -> bool:
    """Whether a curve surely falls behind its first stretch, however little: something is still learned."""
    begin = int(FIRST_LEAP * len(values)) + 1
    line = trend(steps[begin:], values[begin:])
    if line is None:
        return False
    return (
        line.p_falling < SURELY
        or share_of_falls(block_means(steps[begin:], values[begin:], MOST_RANKED)[1]) >= MOSTLY
    )


def share_of_falls(values: Values) -> float:
    """The share of all pairs of which the later value is lower: it asks for no straight line."""
    earlier, later = np.triu_indices(len(values), 1)
    return float(np.mean(values[later] < values[earlier]))
