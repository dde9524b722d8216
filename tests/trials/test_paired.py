"""Intervals and probabilities, against scipy and against counting by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from stethoscope.trials.paired import adjusted, interval, probability, smallest_probability


@pytest.mark.parametrize("count", [5, 8, 9])
def test_the_interval_is_the_widened_percentile_bootstrap(count: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.normal(0.3, 1.0, count)
    drawn = rng.choice(values, size=(400_000, count)).mean(axis=1)
    tail = stats.norm.sf(math.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1))
    expected = np.quantile(drawn, [tail, 1 - tail])
    assert interval(values.tolist()) == pytest.approx(expected, abs=0.02)


def test_of_many_seeds_the_interval_is_that_of_student() -> None:
    values = np.random.default_rng(0).normal(1.0, 2.0, 60)
    expected = stats.t.interval(0.95, 59, loc=values.mean(), scale=stats.sem(values))
    assert interval(values.tolist()) == pytest.approx(expected, abs=0.05)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    drawn = rng.normal(0.0, 1.0, size=(600, 8))
    held = [low <= 0.0 <= high for low, high in (interval(row.tolist()) for row in drawn)]
    assert 0.92 <= np.mean(held) <= 0.98


def test_differences_that_are_all_the_same_have_no_width() -> None:
    assert interval([0.25] * 8) == (0.25, 0.25)


def test_one_seed_says_nothing() -> None:
    assert interval([1.0]) == (-math.inf, math.inf)
    assert probability([1.0]) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_probability_is_that_of_the_exact_sign_flip_test(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.6, 1.0, 8)
    exact = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert probability(values.tolist()) == pytest.approx(exact.pvalue)


def test_eight_seeds_that_agree_reach_two_in_256_and_five_never_reach_one_in_twenty() -> None:
    assert probability([1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.3, 1.0]) == pytest.approx(2 / 256)
    assert smallest_probability(8) == pytest.approx(2 / 256)
    assert smallest_probability(5) > 0.05 > smallest_probability(6)


def test_effects_judged_together_are_compared_with_the_largest_that_chance_gives() -> None:
    rng = np.random.default_rng(5)
    effects = [rng.normal(1.0, 1.0, 7), rng.normal(0.5, 1.0, 7), rng.normal(0.0, 1.0, 7)]
    seen = [_t(one) for one in effects]
    chance = [
        [_t(one * np.array(signs)) for one in effects] for signs in itertools.product([1.0, -1.0], repeat=7)
    ]
    order = np.argsort(seen)[::-1]
    expected = [0.0] * 3
    least = 0.0
    for place, at in enumerate(order):
        beaten = [max(row[other] for other in order[place:]) >= seen[at] * (1 - 1e-9) for row in chance]
        least = max(least, float(np.mean(beaten)))
        expected[at] = least
    assert adjusted([one.tolist() for one in effects], [range(7)] * 3) == pytest.approx(expected)


def test_a_large_effect_is_found_among_many_that_are_none() -> None:
    rng = np.random.default_rng(8)
    effects = [(5.0 + rng.normal(0, 0.5, 8)).tolist(), *rng.normal(0, 1, size=(19, 8)).tolist()]
    found = adjusted(effects, [range(8)] * 20)
    assert found[0] <= 0.05
    # Bonferroni or Holm could not: the smallest probability of eight seeds, twenty times.
    assert 20 * smallest_probability(8) > 0.05


def test_effects_that_are_none_are_rarely_called_one_whatever_their_number() -> None:
    rng = np.random.default_rng(9)
    families = rng.normal(0, 1, size=(200, 6, 8))
    wrong = [min(adjusted(family.tolist(), [range(8)] * 6)) <= 0.05 for family in families]
    assert np.mean(wrong) <= 0.09  # 5 % are to be expected; 9 % would be by chance in 1 of 200 such tests


def test_effects_may_have_different_seeds() -> None:
    both = adjusted([[1.0, 1.2, 0.9, 1.1, 1.0, 1.3], [0.0, 0.0]], [range(6), (2, 9)])
    assert both[0] == pytest.approx(2 / 64)
    assert both[1] == 1.0


def _t(values: np.ndarray) -> float:
    return float(abs(values.mean()) / (values.std(ddof=1) / math.sqrt(len(values))))
