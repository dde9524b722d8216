"""Steps trained twice tell what a restart kept: everything, the order of the data, or neither."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.replay import replay, returns_to_start
from stethoscope.run import Values

from .curves import noise

STEPS = np.arange(1000, 1400, 10)


def losses(batches: Values, own: int) -> Values:
    return np.exp(0.5 - STEPS / 4000.0 + 0.2 * batches + 0.02 * noise(len(STEPS), own))


def test_the_same_numbers_are_an_exact_replay() -> None:
    first = losses(noise(40, 1), 2)
    found = replay((STEPS, first), (STEPS, first.copy()))
    assert found is not None
    assert found.is_exact
    assert found.keeps_the_order


def test_the_same_batches_with_other_rounding_keep_the_order() -> None:
    kept = 0
    for seed in range(50):
        batches = noise(40, seed)
        found = replay((STEPS, losses(batches, seed + 100)), (STEPS, losses(batches, seed + 200)))
        assert found is not None
        kept += found.keeps_the_order and not found.is_exact
    assert kept >= 48


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_other_batches_do_not(rho: float) -> None:
    kept = 0
    for seed in range(300):
        pair = [losses(noise(40, seed + add, rho), seed + add + 1) for add in (1000, 2000)]
        found = replay((STEPS, pair[0]), (STEPS, pair[1]))
        assert found is not None
        kept += found.keeps_the_order
    assert kept <= 3


def test_a_loss_that_comes_back_higher_shows_its_shift() -> None:
    first = losses(noise(40, 1), 2)
    found = replay((STEPS, first), (STEPS, 1.5 * first))
    assert found is not None
    assert found.shift == pytest.approx(np.log(1.5))


def test_few_steps_in_common_say_nothing() -> None:
    first = losses(noise(40, 1), 2)
    assert replay((STEPS, first), (STEPS + 5, first)) is None
    assert replay((STEPS[:8], first[:8]), (STEPS, first)) is None


def test_a_rate_returns_to_its_start() -> None:
    rates = np.array([1e-3, 8e-4, 6e-4, 1e-3, 9e-4])
    assert returns_to_start(rates, 3)
    assert not returns_to_start(rates, 2)
    assert not returns_to_start(np.full(5, 1e-3), 3)
