"""Forecasts, their bands, and the answer that there is none."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.trajectory.forecast.families import DECAY, LR_SUM, POWER, Inputs, fit
from stethoscope.trajectory.forecast.lr_sums import sums
from stethoscope.trajectory.forecast.prediction import forecast

STEPS = np.arange(10, 4001, 10)
AHEAD = np.array([5000, 6000])


def power_law(steps: np.ndarray) -> np.ndarray:
    return 0.5 + 3.0 * (steps / 4000 + 0.02) ** -0.4


def noisy(level: np.ndarray, size: float = 0.03, seed: int = 0) -> np.ndarray:
    return level * np.exp(size * np.random.default_rng(seed).standard_normal(len(level)))


def test_the_sum_of_a_constant_rate_is_its_steps() -> None:
    steps = np.array([0, 1000])
    spent, annealed = sums(steps, np.array([2e-3, 2e-3]), np.array([0.0, 500.0, 1000.0]))
    assert spent == pytest.approx([0.0, 500.0, 1000.0], abs=1.0)
    assert annealed == pytest.approx([0.0, 0.0, 0.0])


def test_annealing_counts_what_comes_down_and_no_warm_up() -> None:
    steps = np.arange(0, 2001)
    rates = np.where(steps < 500, steps / 500, np.where(steps < 1500, 1.0, 0.1))
    _, annealed = sums(steps, rates, np.array([400.0, 1400.0, 1600.0, 2000.0]))
    assert annealed[:2] == pytest.approx([0.0, 0.0])
    assert 0.0 < annealed[2] < annealed[3]


@pytest.mark.parametrize(
    ("family", "level"),
    [(POWER, power_law(STEPS)), (DECAY, 0.5 + 3.0 * np.exp(-STEPS / 1500.0))],
)
def test_a_curve_of_its_own_family_is_found(family: str, level: np.ndarray) -> None:
    curve = fit(family, Inputs(STEPS[::8].astype(float)), level[::8], relative=True)
    assert curve is not None
    assert np.max(np.abs(np.log(curve.at(Inputs(STEPS.astype(float))) / level))) < 0.03


def test_outliers_do_not_bend_a_fit() -> None:
    level = power_law(STEPS[::8])
    spiked = level.copy()
    spiked[::10] *= 20.0
    curve = fit(POWER, Inputs(STEPS[::8].astype(float)), spiked, relative=True)
    assert curve is not None
    assert np.median(np.abs(np.log(curve.at(Inputs(STEPS[::8].astype(float))) / level))) < 0.05


def test_a_power_law_is_forecast_within_its_band() -> None:
    told = forecast(STEPS, noisy(power_law(STEPS)), AHEAD, relative=True)
    assert not isinstance(told, str)
    off = (np.log(power_law(AHEAD)) - told.level) / told.error
    assert np.all(np.abs(off) < 3.0)
    assert told.error[1] > told.error[0]


def test_a_score_is_forecast_upwards() -> None:
    level = 0.9 - 0.1 * (STEPS / 4000 + 0.05) ** -0.5
    told = forecast(STEPS, level + 0.002 * np.sin(STEPS), AHEAD, relative=False)
    assert not isinstance(told, str)
    truth = 0.9 - 0.1 * (AHEAD / 4000 + 0.05) ** -0.5
    assert told.level == pytest.approx(truth, abs=0.02)


def test_a_known_schedule_is_used() -> None:
    grid = np.arange(0, 8001, 10)
    rates = 0.5 * (1 + np.cos(np.pi * grid / 8000)) + 1e-6
    spent = np.concatenate([[0.0], np.cumsum(rates[1:]) * 10])
    level = 0.5 + 2.0 * (np.interp(STEPS, grid, spent) / 4000 + 0.05) ** -0.5
    told = forecast(STEPS, noisy(level, 0.005), np.array([8000]), relative=True, schedule=(grid, rates))
    assert not isinstance(told, str)
    assert told.family == LR_SUM
    truth = np.log(0.5 + 2.0 * (spent[-1] / 4000 + 0.05) ** -0.5)
    assert told.level[0] == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize(
    ("values", "ahead", "why"),
    [
        (power_law(STEPS[:30]), [400], "too few"),
        (power_law(STEPS), [50_000], "times as far"),
        (power_law(STEPS) - 5.0, [5000], "not above zero"),
        (np.where(STEPS < 2000, 3.0, 3.0 - (STEPS - 2000) / 1000.0), [5000], "misses the next quarter"),
    ],
)
def test_what_cannot_be_forecast_says_why(values: np.ndarray, ahead: list[int], why: str) -> None:
    told = forecast(STEPS[: len(values)], values, np.array(ahead), relative=True)
    assert isinstance(told, str)
    assert why in told


def test_the_same_curve_gives_the_same_forecast() -> None:
    first, second = (forecast(STEPS, noisy(power_law(STEPS)), AHEAD, relative=True) for _ in range(2))
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    assert np.array_equal(first.error, second.error)
