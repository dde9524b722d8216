"""Trends are found under noise with a memory, and noise is not taken for a trend."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stethoscope.detectors.trend import trend

from .curves import noise


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_noise_is_rarely_a_trend(rho: float) -> None:
    lines = [trend(np.arange(256), noise(256, seed, rho)) for seed in range(200)]
    rejected = sum(min(line.p_rising, line.p_falling) < 0.005 for line in lines if line)
    assert rejected <= 8  # 1 % two-sided of 200, with room for chance


@pytest.mark.parametrize(("count", "most"), [(16, 26), (64, 10), (256, 8)])
def test_noise_that_remembers_long_is_rarely_a_trend(count: int, most: int) -> None:
    lines = [trend(np.arange(count), noise(count, seed, 0.95)) for seed in range(200)]
    assert sum(min(line.p_rising, line.p_falling) < 0.005 for line in lines if line) <= most


def test_a_trend_of_three_deviations_is_found() -> None:
    found = 0
    for seed in range(50):
        line = trend(np.arange(256), noise(256, seed, 0.5) + np.linspace(0, 3, 256))
        found += line is not None and line.p_rising < 0.01
    assert found >= 40


def test_without_memory_it_is_least_squares() -> None:
    values = noise(100, 1)
    line, exact = trend(np.arange(100), values), stats.linregress(np.arange(100), values)
    assert line is not None
    assert line.slope == pytest.approx(exact.slope)
    assert line.standard_error >= exact.stderr * 0.999


def test_a_perfect_line_is_certain() -> None:
    line = trend(np.arange(20), np.arange(20, dtype=np.float64))
    assert line is not None
    assert line.p_rising < 1e-6
    assert line.change == pytest.approx(19.0)
