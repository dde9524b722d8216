"""The scaler's model: arithmetic against hand calculation, decisions against simulated scalers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stethoscope.detectors import scaler
from stethoscope.run import Steps, Values


def simulated(
    steps: int, overflows: Callable[[int, int, np.random.Generator], bool], seed: int, growth: int = 2000
) -> tuple[Steps, Values]:
    """The scale of a scaler that starts at 2^16 and overflows where `overflows(step, octave, rng)` says."""
    rng = np.random.default_rng(seed)
    octave, clean, path = 16, 0, []
    for step in range(steps):
        if overflows(step, octave, rng):
            octave, clean = octave - 1, 0
        elif (clean := clean + 1) == growth:
            octave, clean = octave + 1, 0
        path.append(2.0**octave)
    return np.arange(steps, dtype=np.int64), np.array(path)


def ceiling(at: float) -> Callable[[int, int, np.random.Generator], bool]:
    """Gradients overflow above about 2^at: a healthy model."""
    return lambda step, octave, rng: octave > at + 0.5 * rng.standard_normal()


def forward(rate: float) -> Callable[[int, int, np.random.Generator], bool]:
    """A share of steps overflows at any scale: a fault in the forward pass, from step 1,000 on."""
    return lambda step, octave, rng: step > 1000 and rng.random() < rate


def test_the_critical_rate_of_torch_is_one_in_2886() -> None:
    assert 1 / scaler.critical_rate(2000) == pytest.approx(2886, abs=1)


def test_drift_is_zero_at_the_critical_rate_and_negative_above() -> None:
    critical = scaler.critical_rate(2000)
    assert scaler.drift(critical, 2000) == pytest.approx(0.0, abs=1e-9)
    assert scaler.drift(1e-2, 2000) == pytest.approx(-1e-2, rel=1e-6)
    assert scaler.drift(0.0, 2000) == pytest.approx(1 / 2000)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("at", [7, 12, 21])
def test_a_healthy_scaler_is_never_in_decline(at: float, seed: int) -> None:
    steps, scale = simulated(30_000, ceiling(at), seed)
    for cadence in (1, 10, 100):
        assert scaler.decline(scaler.path(steps[::cadence], scale[::cadence])) is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rate", [0.003, 0.01, 0.1])
def test_forward_overflows_are_found_and_told_from_backward_ones(rate: float, seed: int) -> None:
    steps, scale = simulated(8000, forward(rate), seed)
    fall = scaler.decline(scaler.path(steps, scale))
    assert fall is not None
    assert fall.supercritical
    assert fall.hazard is not None
    assert not fall.hazard.rises_with_scale


def test_a_healthy_hazard_rises_with_the_scale() -> None:
    steps, scale = simulated(30_000, ceiling(14), 3)
    hazard = scaler.hazard(scaler.path(steps, scale))
    assert hazard is not None
    assert hazard.rises_with_scale


def test_window_means_give_the_same_number_of_falls() -> None:
    steps, scale = simulated(4000, forward(0.005), 1)
    means = scale.reshape(-1, 50).mean(axis=1)
    fine, coarse = scaler.path(steps, scale), scaler.path(steps[49::50], means)
    assert coarse.skips == pytest.approx(fine.skips, abs=2)


def test_the_growth_interval_is_read_from_the_path() -> None:
    octaves = np.repeat([16, 17, 18, 17, 18], 500)
    assert scaler.inferred_growth_interval(np.arange(2500), octaves) == 500


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.inf], [0.0, 0.0], [1e300, 1e-300], [5.0] * 9])
def test_nothing_strange_breaks_it(values: list[float]) -> None:
    path = scaler.path(np.arange(len(values)), np.array(values, dtype=np.float64))
    scaler.decline(path)
    scaler.hazard(scaler.after_search(path))


@pytest.mark.parametrize(("rate", "steps"), [(1e-3, 19_000), (5e-3, 3200), (1e-2, 1600)])
def test_a_scale_falls_below_one_after_so_many_steps(rate: float, steps: int) -> None:
    assert scaler.steps_until_below_one(16, rate, 2000) == pytest.approx(steps, rel=0.03)
    assert scaler.steps_until_below_one(16, 1e-4, 2000) == float("inf")
    assert scaler.steps_until_below_one(-3, rate, 2000) == 0.0


def test_the_chance_of_a_supercritical_rate_follows_the_counts() -> None:
    expected = 10_000 / 2886
    assert scaler.chance_supercritical(0, 10_000, 2000) < 0.02
    assert 0.2 < scaler.chance_supercritical(round(expected), 10_000, 2000) < 0.8
    assert scaler.chance_supercritical(40, 10_000, 2000) > 0.999


def test_the_scale_tells_the_largest_gradient() -> None:
    assert scaler.largest_gradient(16) == pytest.approx(65504.0 / 65536.0)
    assert scaler.largest_gradient(-3) == 65504.0 * 8.0


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_scaler_is_in_balance_and_a_falling_one_is_not(seed: int) -> None:
    healthy = scaler.path(*simulated(40_000, ceiling(15.0), seed))
    falling = scaler.path(*simulated(10_000, forward(5e-3), seed))
    assert scaler.in_balance(scaler.after_search(healthy))
    assert not scaler.in_balance(scaler.after_search(falling))
