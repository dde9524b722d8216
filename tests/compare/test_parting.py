"""Where signals part: within noise, with memory, at other cadences, and by what is not finite."""

from __future__ import annotations

import numpy as np

from stethoscope.compare.pairing import Paired, paired
from stethoscope.compare.parting import How, equal_until, parting
from stethoscope.run import Series
from tests.compare.runs import STEPS, losses

ALPHA = 0.01


def pair(good: np.ndarray, bad: np.ndarray, name: str = "loss") -> Paired:
    return Paired(name, STEPS[: len(bad)], np.atleast_2d(good), bad)


def series(steps: np.ndarray, values: np.ndarray, axis: str = "step") -> Series:
    return Series("loss", "loss", steps.astype(np.int64), values, axis=axis)


def test_two_seeds_do_not_part() -> None:
    assert [seed for seed in range(40) if parting(pair(losses(seed), losses(1000 + seed)), ALPHA)] == []


def test_two_seeds_with_memory_in_their_noise_do_not_part() -> None:
    def remembered(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        noise = np.zeros(len(STEPS))
        for at in range(1, len(noise)):
            noise[at] = 0.8 * noise[at - 1] + 0.03 * rng.normal()
        return losses(seed, noise=0.0) * np.exp(noise)

    assert [
        seed for seed in range(40) if parting(pair(remembered(seed), remembered(500 + seed)), ALPHA)
    ] == []


def test_a_run_that_is_a_little_faster_does_not_part() -> None:
    faster = 0.3 + 3 / (1 + STEPS * 1.08 / 60)
    assert (
        parting(
            pair(losses(1), faster * np.exp(0.05 * np.random.default_rng(2).normal(size=len(STEPS)))), ALPHA
        )
        is None
    )


def test_a_loss_that_turns_up_parts_where_it_turns() -> None:
    bad = losses(2)
    bad[100:] *= np.linspace(1, 3, len(bad) - 100)
    part = parting(pair(losses(1), bad), ALPHA)
    assert part is not None
    assert part.how is How.NOISE
    assert part.higher
    assert 1000 <= part.step <= 1200
    assert part.step <= part.sure <= 1400


def test_a_loss_that_is_nan_parts_at_its_first_nan() -> None:
    bad = losses(2)
    bad[120:] = np.nan
    part = parting(pair(losses(1), bad), ALPHA)
    assert part is not None
    assert (part.how, part.step) == (How.NOT_FINITE, 1200)


def test_a_loss_that_rises_before_it_is_nan_parts_where_it_rises() -> None:
    bad = losses(2)
    bad[100:150] *= np.exp(np.linspace(0, 4, 50))
    bad[150:] = np.inf
    part = parting(pair(losses(1), bad), ALPHA)
    assert part is not None
    assert part.how is How.NOISE
    assert part.step < 1300


def test_a_rate_that_is_set_otherwise_parts_at_the_first_step_it_differs() -> None:
    rate = np.full(len(STEPS), 1e-3)
    other = np.where(STEPS < 500, 1e-3, 1e-4)
    part = parting(pair(rate, other, "lr"), ALPHA)
    assert part is not None
    assert (part.how, part.step, part.higher) == (How.SET_OTHERWISE, 500, False)
    assert parting(pair(rate, other, "lr"), ALPHA, follows_the_run=True) is None
    assert parting(pair(rate, rate * 1.0001, "lr"), ALPHA) is None


def test_several_good_runs_tolerate_what_they_show_and_no_more() -> None:
    goods = np.stack([losses(seed) * (1 + 0.12 * (-1) ** seed) for seed in range(6)])
    within, beyond = losses(77) * 1.12, losses(77) * 1.8
    assert parting(pair(goods, within), ALPHA) is None
    assert parting(pair(goods, beyond), ALPHA) is not None


def test_values_that_are_the_same_digit_for_digit_are_told() -> None:
    bad = losses(1)
    bad[60:] += 1e-12
    assert equal_until(pair(losses(1), bad)) == 590
    assert equal_until(pair(losses(1), losses(2))) is None
    assert equal_until(pair(np.ones(len(STEPS)), np.ones(len(STEPS)))) is None


def test_other_cadences_are_compared_by_stretches() -> None:
    fine, coarse = np.arange(0, 2000, 4), np.arange(3, 2000, 50)
    joined = paired([series(fine, np.sqrt(fine))], series(coarse, np.sqrt(coarse)))
    assert isinstance(joined, Paired)
    assert joined.stretched
    assert 35 <= len(joined) <= 41
    assert np.abs(joined.good[0] - joined.bad)[1:].max() < 3


def test_what_cannot_be_paired_says_why() -> None:
    steps = np.arange(10)
    assert "count differently" in str(
        paired([series(steps, steps * 1.0)], series(steps, steps * 1.0, "epoch"))
    )
    assert "no steps in common" in str(paired([series(steps, steps * 1.0)], series(steps + 50, steps * 1.0)))
    far = series(np.arange(0, 100, 10), np.ones(10))
    assert isinstance(paired([far], series(np.array([1, 2]), np.ones(2))), Paired)
    assert "no value" in str(paired([series(steps[:0], steps[:0] * 1.0)], series(steps, steps * 1.0)))


def test_nothing_but_nan_parts_nowhere() -> None:
    nothing = np.full(len(STEPS), np.nan)
    assert parting(pair(nothing, nothing), ALPHA) is None
    assert parting(pair(losses(1) * 1e300, losses(2) * 1e300), ALPHA) is None
