"""Divergence, plateaus, periods, leaps of the learning rate and rising runs."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.divergence import rise
from stethoscope.detectors.lr_jump import jumps
from stethoscope.detectors.periodicity import swing
from stethoscope.detectors.plateau import flatness, longest_constant
from stethoscope.detectors.rising_run import rising_run

from .curves import noise

T = np.arange(1000, dtype=np.int64)
FALLING = 2.0 + 8.0 / (1.0 + T / 30.0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_a_falling_loss_does_not_diverge(seed: int, rho: float) -> None:
    assert rise(T, FALLING * np.exp(0.05 * noise(1000, seed, rho))) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_loss_that_climbs_back_half_way_diverges(seed: int) -> None:
    values = FALLING + np.maximum(0, T - 700) / 300.0 * 4.0
    seen = rise(T, values * np.exp(0.05 * noise(1000, seed)))
    assert seen is not None
    assert seen.severe
    assert 600 <= seen.onset <= 800


def test_a_rise_that_was_made_good_is_none() -> None:
    values = FALLING + 4.0 * np.exp(-(((T - 500) / 60.0) ** 2))
    assert rise(T, values * np.exp(0.02 * noise(1000, 1))) is None


def test_a_blow_up_in_the_last_points_is_exponential() -> None:
    values = FALLING * np.exp(0.01 * noise(1000, 2))
    values[-40:] += 0.05 * np.exp(np.arange(40) / 6.0)
    seen = rise(T, values)
    assert seen is not None
    assert seen.exponential


def test_a_flat_curve_is_flat_and_a_falling_one_is_not() -> None:
    flat, falling = flatness(T, 3.3 + 0.01 * noise(1000, 1)), flatness(T, FALLING)
    assert flat is not None
    assert falling is not None
    assert flat.within(0.02)
    assert not falling.within(0.02)


def test_the_longest_constant_stretch() -> None:
    assert longest_constant(np.array([1.0, 2.0, 2.0, 2.0, 1.0])) == (1, 3)


def test_a_period_is_found_to_a_few_percent() -> None:
    seen = swing(T, np.sin(2 * np.pi * T / 100.0) + 0.5 * noise(1000, 1))
    assert seen is not None
    assert seen.period == pytest.approx(100.0, rel=0.05)
    assert seen.amplitude == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.98])
def test_noise_has_no_period(rho: float) -> None:
    assert sum(swing(T, noise(1000, seed, rho)) is not None for seed in range(60)) <= 2


def test_a_leap_back_to_the_peak_is_found_and_a_warm_restart_is_a_cycle() -> None:
    decay = np.linspace(1e-3, 4e-4, 50)
    (leap,) = jumps(np.arange(100), np.concatenate([decay, decay]))
    assert (leap.step, leap.cyclic) == (50, False)
    cosine = 0.5e-3 * (1 + np.cos(np.pi * np.arange(50) / 50.0))
    assert all(leap.cyclic for leap in jumps(np.arange(150), np.tile(cosine, 3)))


def test_rates_printed_with_six_decimals_do_not_leap() -> None:
    printed = np.round(np.concatenate([np.linspace(0, 4e-6, 50), np.linspace(4e-6, 0, 50)]), 6)
    assert jumps(np.arange(100), printed) == []


def test_six_values_in_rising_order() -> None:
    seen = rising_run(np.array([2.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]))
    assert (seen.start, seen.rises) == (1, 5)
    assert seen.p == pytest.approx(2 / 720)
