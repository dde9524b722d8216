"""A shape that every epoch repeats is found under slow noise, and slow noise is not taken for a shape."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.phase_folding import fold

from .curves import noise


@pytest.mark.parametrize("rho", [0.0, 0.9, 0.95])
@pytest.mark.parametrize(("count", "period"), [(80, 16), (400, 50)])
def test_noise_repeats_no_shape(rho: float, count: int, period: int) -> None:
    folds = [fold(np.arange(count), noise(count, seed, rho), period) for seed in range(200)]
    assert sum(one.p < 0.01 for one in folds if one is not None) <= 8
    assert all(one is not None for one in folds)


def test_a_falling_loss_repeats_no_shape() -> None:
    falls = 3.0 * (1.0 + np.arange(400) / 20.0) ** -0.5
    folds = [fold(np.arange(400), falls + 0.05 * noise(400, seed), 50) for seed in range(50)]
    assert sum(one.p < 0.01 for one in folds if one is not None) <= 4


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_the_order_of_the_data_shows_in_its_shape(rho: float) -> None:
    hard = np.where(np.arange(400) % 50 < 15, 2.0, 0.0)
    folds = [fold(np.arange(400), hard + noise(400, seed, rho), 50) for seed in range(40)]
    assert sum(one.p < 0.01 for one in folds if one is not None) >= 36
    clean = fold(np.arange(400), hard, 50)
    assert clean is not None
    assert clean.share == pytest.approx(1.0)
    assert clean.amplitude == pytest.approx(1.0, abs=0.1)


def test_three_periods_are_too_few() -> None:
    assert fold(np.arange(150), noise(150, 1), 50) is None


def test_points_that_leave_phases_empty_are_not_folded() -> None:
    assert fold(np.arange(0, 400, 10), noise(40, 1), 50) is None
