"""Levels, noise and order-restricted fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from stethoscope.detectors import robust_stats

from .curves import noise


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_isotonic_agrees_with_scipy(values: list[float]) -> None:
    ours = robust_stats.isotonic(np.array(values))
    assert ours == pytest.approx(isotonic_regression(values).x, rel=1e-9, abs=1e-6)


def test_noise_is_read_through_a_trend() -> None:
    values = 0.5 * noise(2000, 1) + np.linspace(0, 50, 2000)
    assert robust_stats.noise_sd(values) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_autocorrelation_is_recovered(rho: float) -> None:
    assert robust_stats.autocorrelation(noise(4000, 2, rho)) == pytest.approx(rho, abs=0.06)


@given(st.integers(1, 500), st.integers(1, 50))
def test_blocks_keep_the_mean_and_the_number(count: int, most: int) -> None:
    steps, values = np.arange(count), np.arange(count, dtype=np.float64)
    x, y = robust_stats.block_means(steps, values, most)
    assert len(x) == len(y) <= most
    x, y = robust_stats.block_medians(steps, values, most)
    assert len(x) == len(y) <= most + 1
    assert np.all(np.diff(y) > 0) or len(y) == 1


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_memory_around_a_line_is_rather_too_much_than_too_little(rho: float) -> None:
    time = np.arange(64) - 31.5
    found = []
    for seed in range(200):
        values = noise(64, seed, rho)
        values = values - values.mean()
        found.append(robust_stats.memory_around_a_line(values - time * (time @ values) / (time @ time)))
    assert rho <= float(np.mean(found)) <= rho + 0.12
