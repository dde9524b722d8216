"""Is a value too large even for a series with a heavy tail?

Peaks over a threshold follow a generalised Pareto distribution. It is fitted to quantiles (Pickands), which
one spike in a hundred points cannot move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import Values

THRESHOLD = 0.96
LEAST_POINTS = 500  # fewer points do not show their tail


@dataclass(frozen=True, slots=True)
class Tail:
    """The upper tail of a distribution beyond `threshold`, which a share `share` of the points exceeds."""

    threshold: float
    share: float
    shape: float
    scale: float

    def chance(self, value: float) -> float:
        """The chance that one point lies above `value`."""
        excess = (value - self.threshold) / self.scale
        if excess <= 0.0:
            return self.share
        if abs(self.shape) < 1e-9:
            return float(self.share * np.exp(-min(excess, 700.0)))
        base = 1.0 + self.shape * excess
        return float(self.share * base ** (-1.0 / self.shape)) if base > 0.0 else 0.0


def fit(values: Values) -> Tail | None:
    """The upper tail of finite values; None where there are too few."""
    if len(values) < LEAST_POINTS:
        return None
    q90, q95, q96, q975, q98, q99 = np.quantile(values, [0.9, 0.95, 0.96, 0.975, 0.98, 0.99]).tolist()
    inner, outer = q98 - q96, q99 - q98
    if min(inner, outer, q95 - q90, q975 - q95) <= 0.0:
        return None
    # Quantiles at exceedance rates 1, 1/2 and 1/4 of the threshold's give Pickands' estimate. It strays far
    # on a few thousand points, so the heavier of two tails counts.
    shape = float(np.clip(max(_shape(q96, q98, q99), _shape(q90, q95, q975)), -0.5, 1.0))
    scale = inner * shape / (2.0**shape - 1.0) if abs(shape) > 1e-9 else inner / np.log(2.0)
    return Tail(q96, 1.0 - THRESHOLD, shape, float(scale))


def _shape(low: float, middle: float, high: float) -> float:
    """The shape of the tail beyond the first of three quantiles."""
    return float(np.log2((high - middle) / (middle - low)))
