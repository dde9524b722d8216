"""How a rise begins."""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.leap import leap
from stethoscope.run import Series, Values


def series(values: Values, every: int = 1) -> Series:
    return Series("loss", "loss", np.arange(len(values), dtype=np.int64) * every, values)


def noisy(level: Values) -> Values:
    return level * np.exp(0.3 * np.random.default_rng(3).standard_normal(len(level)))


def test_one_step_that_carries_the_loss_away_is_told_from_growth() -> None:
    calm = np.full(100, 0.01)
    at_once = leap(series(noisy(np.concatenate([[2.3], calm, np.full(50, 1e6)]))), 20)
    growing = leap(series(noisy(np.concatenate([[2.3], calm, 0.01 * 1.8 ** np.arange(50)]))), 20)
    assert at_once is not None
    assert at_once.step == 101
    assert at_once.one_step
    assert growing is not None
    assert not growing.one_step


def test_a_rise_between_distant_values_says_nothing_about_one_step() -> None:
    found = leap(series(noisy(np.concatenate([np.full(100, 0.01), np.full(50, 1e6)])), every=100), 2000)
    assert found is not None
    assert not found.one_step


def test_fresh_weights_bring_back_the_first_level() -> None:
    learning = 2.7 * np.exp(-np.arange(200) / 40) + 0.3
    found = leap(series(np.concatenate([learning, learning])), 150)
    assert found is not None
    assert found.step == 200
    assert found.back_to_start


def test_an_outlier_is_no_leap() -> None:
    values = np.full(200, 0.5)
    values[120] = 40.0
    assert leap(series(values), 100) is None


def test_odd_series_are_survived() -> None:
    assert leap(series(np.array([])), 0) is None
    assert leap(series(np.array([1.0])), 0) is None
    assert leap(series(np.array([0.0, -1.0, 3.0, 5.0])), 0) is None
