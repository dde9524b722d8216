"""The spike detector says the same online and over a whole log, and learns only from numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.detectors import spike, tail
from stethoscope.detectors.aftermath import Grade, follow

from .curves import noise

numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)
losses = st.floats(0.1, 10.0)


@given(st.lists(st.one_of(numbers, losses), max_size=60), st.booleans(), st.integers(1, 20))
def test_scan_is_update_folded_over_the_series(values: list[float], logarithmic: bool, warm_up: int) -> None:
    state, verdicts = spike.init(logarithmic, warm_up), []
    for value in values:
        state, verdict = spike.update(state, value)
        verdicts.append(verdict)
    scanned = spike.scan(np.array(values, dtype=np.float64), logarithmic, warm_up)
    assert scanned.spikes.tolist() == verdicts


def test_nan_is_never_learned() -> None:
    state = spike.init(warm_up=4)
    for value in (1.0, 1.1, 0.9, 1.0, 1.05):
        state, _ = spike.update(state, value)
    after, verdict = spike.update(state, float("nan"))
    assert (after, verdict) == (state, False)


def test_infinity_is_a_spike_and_is_not_learned() -> None:
    state = spike.init(warm_up=2)
    for value in (1.0, 1.1, 0.9):
        state, _ = spike.update(state, value)
    after, verdict = spike.update(state, float("inf"))
    assert (after, verdict) == (state, True)


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_a_hundred_thousand_quiet_points_give_no_alarm(rho: float) -> None:
    quiet = 3.0 * np.exp(0.03 * noise(100_000, 1, rho))
    assert not spike.scan(quiet).spikes.any()


def test_a_spike_of_half_the_level_is_seen() -> None:
    values = 3.0 * np.exp(0.02 * noise(1000, 2))
    values[600] *= 1.5
    assert np.flatnonzero(spike.scan(values).spikes).tolist() == [600]


@pytest.mark.parametrize(
    ("length", "grade"), [(1, Grade.OUTLIER), (5, Grade.RECOVERED), (50, Grade.SLOW), (500, Grade.LASTING)]
)
def test_the_aftermath_is_graded(length: int, grade: Grade) -> None:
    values = 3.0 * np.exp(0.02 * noise(1000, 3))
    values[400 : 400 + length] *= 2.0
    steps = np.arange(1000) * 10
    (found,) = follow(steps, values, spike.scan(values))
    assert (found.step, found.grade) == (4000, grade)


def test_a_spike_at_the_very_end_is_not_called_lasting() -> None:
    values = 3.0 * np.exp(0.02 * noise(1000, 4))
    values[-3:] *= 2.0
    (found,) = follow(np.arange(1000), values, spike.scan(values))
    assert found.grade is Grade.RECOVERED


def test_the_tail_knows_how_heavy_it_is() -> None:
    rng = np.random.default_rng(5)
    light, heavy = tail.fit(rng.standard_normal(20_000)), tail.fit(rng.standard_t(2, 20_000))
    assert light is not None
    assert heavy is not None
    assert light.chance(8.0) < 1e-6 < 1e-3 < heavy.chance(8.0)


@pytest.mark.parametrize(("sd", "expected"), [(0.05, False), (0.3, True)])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_wide_noise_is_known_as_such(sd: float, expected: bool, logarithmic: bool) -> None:
    state = spike.init(logarithmic)
    for value in (3.0 * np.exp(sd * noise(300, 1))).tolist():
        state, _ = spike.update(state, value)
    assert spike.is_wide(state) is expected
