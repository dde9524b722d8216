"""Noise with and without a memory, for tests of detectors."""

from __future__ import annotations

import numpy as np

from stethoscope.run import Values


def noise(count: int, seed: int, rho: float = 0.0) -> Values:
    """Unit AR(1) noise."""
    rng = np.random.default_rng(seed)
    shocks = rng.standard_normal(count)
    values = np.empty(count)
    values[0] = shocks[0]
    for t in range(1, count):
        values[t] = rho * values[t - 1] + np.sqrt(1 - rho * rho) * shocks[t]
    return values
