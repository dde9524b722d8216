"""The sequential test keeps its error rate, and finds what is there."""

from __future__ import annotations

import numpy as np

from stethoscope.compare.sequential import exceeded
from stethoscope.detectors.distributions import beta_quantile

RUNS = 400


def test_white_noise_is_given_a_place_at_most_as_often_as_asked() -> None:
    rng = np.random.default_rng(3)
    alarms = sum(exceeded(rng.normal(size=80), np.zeros(80), 0.05) is not None for _ in range(RUNS))
    # A rate above 5 % would show more alarms than this in all but one of ten thousand such tests.
    assert alarms <= RUNS * beta_quantile(0.9999, 0.05 * RUNS + 1, 0.95 * RUNS)


def test_a_mean_at_the_edge_of_the_tolerated_is_given_no_place() -> None:
    rng = np.random.default_rng(4)
    tolerated = np.full(100, 2.0)
    assert sum(exceeded(rng.normal(2.0, 1.0, 100), tolerated, 0.05) is not None for _ in range(100)) <= 12


def test_a_shift_is_found_soon_and_dated_where_it_begins() -> None:
    rng = np.random.default_rng(5)
    for sign in (1, -1):
        values = rng.normal(size=300)
        values[150:] += 2.0 * sign
        found = exceeded(values, np.zeros(300), 0.001)
        assert found is not None
        assert found.sign == sign
        assert 140 <= found.onset <= 155
        assert 150 <= found.sure <= 175


def test_a_lone_spike_is_no_parting() -> None:
    values = np.random.default_rng(6).normal(size=200)
    values[77] = 1e12
    assert exceeded(values, np.zeros(200), 0.01) is None


def test_nothing_has_no_place() -> None:
    assert exceeded(np.zeros(0), np.zeros(0), 0.01) is None
