"""A decline is found; luck, noise and improvement are not called one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stethoscope.detectors.peak import peak
from stethoscope.run import Values

from .curves import noise

REPEATS = 60


def share_called_declining(curve: Callable[[Values], Values], count: int, rho: float) -> float:
    t = np.linspace(0.0, 1.0, count)
    seen = [peak(np.arange(count), curve(t) + noise(count, seed, rho)) for seed in range(REPEATS)]
    return sum(one is not None and one.declines for one in seen) / REPEATS


@pytest.mark.parametrize("count", [12, 40, 200])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_improving_and_flat_curves_are_not_declining(count: int, rho: float) -> None:
    assert share_called_declining(lambda t: 30 * (1 - np.exp(-4 * t)), count, rho) <= 0.05
    assert share_called_declining(lambda t: 0 * t, count, rho) <= 0.09


@pytest.mark.parametrize("count", [20, 40, 200])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_declines_of_ten_deviations_are_found(count: int, rho: float) -> None:
    assert share_called_declining(lambda t: 20 * np.minimum(t, 1 - t), count, rho) >= 0.75
    assert share_called_declining(lambda t: 10 * np.exp(-4 * t), count, rho) >= 0.75


def test_the_same_curve_gets_the_same_verdict() -> None:
    values = noise(40, 1)
    assert peak(np.arange(40), values) == peak(np.arange(40), values)


def test_eleven_evaluations_are_too_few() -> None:
    assert peak(np.arange(11), np.arange(11.0)) is None


def test_the_best_step_is_where_the_metric_was_best() -> None:
    t = np.arange(0, 40_000, 1000)
    seen = peak(t, np.minimum(t, 20_000 - 0.5 * t) / 1000.0)
    assert seen is not None
    assert seen.declines
    assert abs(seen.best_step - 13_000) <= 3000
