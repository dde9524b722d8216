"""A cross entropy of probabilities is known by its floor; other losses as high are not taken for one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stethoscope.detectors.loss_floor import double_softmax, double_softmax_floor
from stethoscope.run import Values


def learnt(classes: int, wrong: float, seed: int = 0) -> Values:
    """Losses of batches of 128 answers, each right and certain or wrong and certain."""
    rng = np.random.default_rng(seed)
    shares = wrong + (1.0 - 1.0 / classes - wrong) * np.exp(-np.arange(100) / 8.0)
    return double_softmax_floor(classes) + rng.binomial(128, shares) / 128.0


@pytest.mark.parametrize(("classes", "floor"), [(10, 1.4612), (100, 3.6217), (1000, 5.9095)])
def test_the_floor_is_that_of_certain_answers(classes: int, floor: float) -> None:
    certain = np.zeros(classes)
    certain[0] = 1.0
    assert double_softmax_floor(classes) == pytest.approx(math.log(np.exp(certain).sum()) - 1.0)
    assert double_softmax_floor(classes) == pytest.approx(floor, abs=1e-3)


@pytest.mark.parametrize("classes", [5, 10, 100])
@pytest.mark.parametrize("wrong", [0.01, 0.05, 0.12])
def test_it_is_found_where_most_answers_are_right(classes: int, wrong: float) -> None:
    found = double_softmax(learnt(classes, wrong), classes, 1.0 - wrong)
    assert found is not None
    assert found.level == pytest.approx(found.expected, abs=0.03)


def test_another_number_of_classes_does_not_fit() -> None:
    assert double_softmax(learnt(10, 0.05), 9, 0.95) is None
    assert double_softmax(learnt(10, 0.05), 11, 0.95) is None


def test_one_value_below_the_floor_refutes_it() -> None:
    values = learnt(10, 0.05)
    values[70] = 1.4
    assert double_softmax(values, 10, 0.95) is None


def test_many_wrong_answers_say_nothing() -> None:
    assert double_softmax(learnt(10, 0.4), 10, 0.6) is None


def test_losses_that_only_stand_near_by_are_not_taken_for_it() -> None:
    rng = np.random.default_rng(1)
    falls = 0.8 * np.exp(-np.arange(100) / 8.0)
    found = 0
    for _ in range(500):
        level, noise = rng.uniform(1.0, 2.0), rng.uniform(0.01, 0.1)
        found += double_softmax(level + falls + noise * rng.standard_normal(100), 10, 0.95) is not None
    assert found <= 10
