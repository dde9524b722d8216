"""A value that leaves the last values all at once is told from a trend, wandering and heavy tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.detectors import near_level, spike
from stethoscope.detectors.near_level import WINDOW
from stethoscope.run import Values

from .curves import noise


def falling(seed: int, sd: float = 0.1, count: int = 150) -> Values:
    """A young run: the loss falls to a fifth within 150 points."""
    return np.asarray(2.0 * np.exp(-np.arange(count) / 93.0 + sd * noise(count, seed)))


@pytest.mark.parametrize("seed", range(20))
def test_the_fall_of_a_young_run_is_not_taken_for_noise(seed: int) -> None:
    values = falling(seed)
    state = spike.init()
    for value in values.tolist():
        state, _ = spike.update(state, value)
    near = near_level.left(values.tolist(), 3.0, logarithmic=True)
    assert near is not None
    assert spike.standard_deviation(near) == pytest.approx(0.1, abs=0.06)
    assert spike.standard_deviation(near) < spike.standard_deviation(state)
    assert math.exp(near.level) == pytest.approx(2.0 * math.exp(-149 / 93.0), rel=0.2)


@pytest.mark.parametrize("seed", range(20))
def test_a_rise_to_where_the_run_began_is_seen(seed: int) -> None:
    assert near_level.left(falling(seed).tolist(), 2.0, logarithmic=True) is not None


def test_most_of_the_way_is_made_at_once() -> None:
    values = [*np.exp(0.02 * noise(WINDOW, 1)).tolist()[:-1], 1.6]
    assert near_level.left(values, 1.9, logarithmic=True) is None
    assert near_level.left(values, 3.0, logarithmic=True) is not None


@pytest.mark.parametrize("rho", [0.0, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(5))
def test_noise_leaves_nothing_whatever_it_remembers(rho: float, seed: int) -> None:
    values = np.exp(0.1 * noise(2000, seed, rho)).tolist()
    for at in range(WINDOW, 2000):
        assert near_level.left(values[at - WINDOW : at], values[at], logarithmic=True) is None


def test_heavy_tails_leave_nothing() -> None:
    values = np.random.default_rng(3).lognormal(0.0, 1.0, 3000).tolist()
    for at in range(WINDOW, 3000):
        assert near_level.left(values[at - WINDOW : at], values[at], logarithmic=True) is None


def test_losses_below_zero_are_judged_without_a_logarithm() -> None:
    values = (-100.0 + noise(WINDOW, 2)).tolist()
    near = near_level.left(values, -50.0, logarithmic=False)
    assert near is not None
    assert near.level == pytest.approx(-100.0, abs=1.0)
    assert near_level.left(values, -97.0, logarithmic=False) is None


def test_too_few_values_say_nothing() -> None:
    assert near_level.left([1.0] * (WINDOW - 1), 100.0, logarithmic=True) is None
    assert near_level.left([1.0] * WINDOW, 100.0, logarithmic=True) is not None


@given(st.lists(st.floats(-1e100, 1e100), min_size=WINDOW, max_size=WINDOW + 2), st.floats(-1e100, 1e100))
def test_any_finite_values_are_judged(values: list[float], value: float) -> None:
    for logarithmic in (True, False):
        near = near_level.left(values, value, logarithmic)
        assert near is None or math.isfinite(near.level)


def test_the_cheap_look_passes_what_stands_a_fifth_above_the_level() -> None:
    state = spike.init(warm_up=4)
    assert not near_level.may_rise(state, 100.0)
    for value in (2.0, 2.0, 2.0, 2.0):
        state, _ = spike.update(state, value)
    assert [near_level.may_rise(state, value) for value in (0.0, 2.3, 2.5)] == [False, False, True]
