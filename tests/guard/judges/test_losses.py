"""Spikes are graded by what they leave; divergence and shifts of the level are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.guard.happening import Answer, Kind, Severity
from stethoscope.guard.judging import Judgement

from .runs import REWINDING, judged, rows, warnings


def with_losses(change: dict[int, float], count: int = 600, **other: float) -> list[dict[str, float]]:
    """Healthy steps, with some losses multiplied."""
    steps = rows(count, **other)
    for at, factor in change.items():
        steps[at]["loss"] *= factor
    return steps


def test_one_high_value_is_a_note() -> None:
    _, told = judged(with_losses({300: 3.0}), REWINDING)
    (one,) = told
    assert (one.kind, one.severity, one.answer) == (Kind.LOSS_SPIKE, Severity.NOTE, Answer.NONE)


def test_the_part_that_rose_is_named() -> None:
    steps = rows(600, **{"loss/l1": 1.0, "loss/fft": 0.5})
    steps[300] |= {"loss": 9.0, "loss/fft": 7.5}
    _, (one,) = judged(steps)
    assert (one.facts["part"], one.facts["part_before"], one.facts["part_after"]) == ("loss/fft", 0.5, 7.5)


def test_a_spike_that_lasts_asks_to_go_back_to_its_onset() -> None:
    steps = with_losses({300: 20.0} | dict.fromkeys(range(301, 600), 2.0))
    steps[300]["grad_norm"] = 50.0
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.onset, one.step) == (Kind.LASTING_SPIKE, Answer.REWIND, 300, 308)
    assert one.severity is Severity.CRITICAL


def test_without_leave_to_rewind_it_is_a_warning() -> None:
    _, told = judged(with_losses({300: 20.0} | dict.fromkeys(range(301, 600), 2.0)))
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.severity) == (Kind.LASTING_SPIKE, Answer.NONE, Severity.WARNING)


def test_a_spike_that_comes_down_is_given_time() -> None:
    falls = {300 + k: 1.0 + 4.0 * float(np.exp(-k / 5.0)) for k in range(100)}
    _, told = judged(with_losses(falls), REWINDING)
    assert warnings(told) == []
    assert "back at its level" in told[-1].seen


def test_a_spike_that_stays_after_coming_down_halfway_is_told_later() -> None:
    falls = {300 + k: 2.0 + 10.0 * float(np.exp(-k / 3.0)) for k in range(300)}
    _, told = judged(with_losses(falls), REWINDING)
    assert Answer.REWIND in {one.answer for one in warnings(told, Kind.LASTING_SPIKE)}


def test_a_step_up_with_nothing_before_it_speaks_of_the_data() -> None:
    _, told = judged(with_losses(dict.fromkeys(range(300, 1200), 2.0), 1200), REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.onset) == (Kind.LEVEL_SHIFT, Answer.NONE, 300)
    assert "labels" in one.means


def test_a_step_up_within_wide_noise_is_seen_in_the_blocks() -> None:
    steps = rows(1500, noise=0.5)
    for row in steps[900:]:
        row["loss"] *= 2.5
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer) == (Kind.LEVEL_SHIFT, Answer.NONE)


def test_a_learning_rate_far_above_its_peak_is_named_and_asks_to_go_back() -> None:
    steps = with_losses(dict.fromkeys(range(301, 600), 3.0))
    for row in steps[300:320]:
        row["lr"] = 0.3
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer) == (Kind.LASTING_SPIKE, Answer.REWIND)
    assert "from 0.001 to 0.3" in one.seen


def test_a_rate_that_restarts_at_its_peak_explains_a_rise() -> None:
    steps = with_losses(dict.fromkeys(range(301, 600), 1.4))
    for row in steps[200:300]:
        row["lr"] = 1e-5
    _, told = judged(steps, REWINDING)
    assert warnings(told) == []


def young(noise: float, count: int = 300, seed: int = 0) -> list[dict[str, float]]:
    """A run whose loss still falls: from 2.3 to a sixth of it within 150 steps."""
    steps = rows(count, seed, noise)
    for at, row in enumerate(steps):
        row["loss"] *= 1.15 * (0.15 + 0.85 * float(np.exp(-at / 50.0)))
    return steps


@pytest.mark.parametrize(("noise", "rise"), [(0.03, 1.0), (0.35, 7.0)])
@pytest.mark.parametrize("seed", range(5))
def test_other_labels_in_a_young_run_are_named(noise: float, rise: float, seed: int) -> None:
    steps = young(noise, seed=seed)
    for row in steps[150:]:
        row["loss"] += rise
        row["grad_norm"] *= 4.0
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.onset, one.step) == (Kind.LEVEL_SHIFT, Answer.NONE, 150, 182)
    assert "labels" in one.means


def test_other_labels_that_are_soon_learned_to_be_useless_are_named_too() -> None:
    steps = young(0.35)
    for at, row in enumerate(steps[150:]):
        row["loss"] = 2.3 + 8.0 * float(np.exp(-at / 12.0))
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.onset) == (Kind.LEVEL_SHIFT, Answer.NONE, 150)


@pytest.mark.parametrize("height", [1.0, 3.0])
@pytest.mark.parametrize("steps_down", [3.0, 8.0, 12.0])
def test_a_young_run_that_recovers_by_itself_gets_silence(height: float, steps_down: float) -> None:
    steps = young(0.03)
    for at, row in enumerate(steps[150:]):
        row["loss"] *= 1.0 + height * float(np.exp(-at / steps_down))
    _, told = judged(steps, REWINDING)
    assert warnings(told) == []


def test_a_spike_that_comes_down_to_where_the_run_began_asks_to_go_back() -> None:
    steps = young(0.35)
    for at, row in enumerate(steps[150:]):
        row["loss"] = 4.0 + 60.0 * float(np.exp(-at / 1.8))
        row["lr"] = 0.3 if at < 5 else 1e-3
    _, told = judged(steps, REWINDING)
    first = next(one for one in told if one.answer is Answer.REWIND)
    assert (first.kind, first.onset, first.step) == (Kind.LASTING_SPIKE, 150, 182)


def test_noise_that_grows_wider_is_no_rise() -> None:
    for seed in range(20):
        steps = [*rows(400, seed), *rows(400, seed + 100, noise=0.4)]
        _, told = judged(steps, REWINDING)
        assert warnings(told) == []


def test_without_a_sign_that_the_weights_were_hit_there_is_no_hurry() -> None:
    steps = with_losses({300: 20.0} | dict.fromkeys(range(301, 600), 2.0))
    _, told = judged(steps, REWINDING)
    (one,) = warnings(told)
    assert (one.kind, one.answer, one.onset, one.step) == (Kind.LASTING_SPIKE, Answer.REWIND, 300, 332)


def test_two_bad_batches_close_to_each_other_are_not_held_against_the_weights() -> None:
    fall = [1.0 + 2.0 * float(np.exp(-at / 4.0)) for at in range(100)]
    twice = [one * (fall[at - 6] if at >= 6 else 1.0) for at, one in enumerate(fall)]
    _, told = judged(with_losses({300 + at: one for at, one in enumerate(twice)}), REWINDING)
    assert warnings(told) == []


@pytest.mark.parametrize("doubling", [6.0, 15.0, 40.0])
def test_a_loss_that_grows_without_end_asks_to_go_back(doubling: float) -> None:
    steps = rows(800)
    for at, row in enumerate(steps[400:]):
        row["loss"] += 0.02 * 2.0 ** min(at / doubling, 30.0)
    _, told = judged(steps, REWINDING)
    first = next(one for one in told if one.answer is Answer.REWIND)
    assert first.kind in (Kind.LASTING_SPIKE, Kind.DIVERGENCE)
    assert first.onset is not None
    assert 300 <= first.onset <= first.step < 400 + 12 * doubling + 40


def test_an_explosion_in_the_first_steps_is_seen() -> None:
    steps = rows(200)
    for at, row in enumerate(steps):
        row["loss"] *= min(1.3 ** max(0, at - 8), 1e6)
    _, told = judged(steps)
    assert warnings(told, Kind.DIVERGENCE)


def test_a_slow_curriculum_is_silence() -> None:
    steps = rows(8000)
    for at, row in enumerate(steps):
        row["loss"] *= 1.0 + 0.3 * min(1.0, at / 6000.0)
    _, told = judged(steps, REWINDING)
    assert warnings(told) == []


def test_errors_of_a_converged_model_do_not_matter() -> None:
    steps = rows(3000, noise=0.5)
    for at, row in enumerate(steps):
        row["loss"] *= 2.0 ** (-min(at, 1500) / 60.0)
        if 2000 <= at < 2300:
            row["loss"] += 0.01
    _, told = judged(steps, REWINDING)
    assert warnings(told) == []


def test_a_game_that_begins_near_zero_is_never_gone_back_from() -> None:
    steps = rows(100, noise=0.2, **{"loss/g_adv": 1.0})
    for row in steps[:20]:
        row["loss"] *= 0.02
    _, told = judged(steps, REWINDING)
    assert {one.answer for one in told} <= {Answer.NONE}


def test_a_game_may_rise() -> None:
    steps = rows(2000, noise=0.2, **{"loss/g_adv": 1.0})
    for row in steps[1000:]:
        row["loss"] *= 3.0
    _, told = judged(steps, REWINDING)
    assert warnings(told) == []


def level(state: Judgement) -> float:
    return state.losses.level.level


def test_negative_losses_are_judged_without_a_logarithm() -> None:
    steps = rows(800)
    for at, row in enumerate(steps):
        row["loss"] = -100.0 + row["loss"] - (0.0 if at < 100 else 1.0)
    steps[600]["loss"] = 50.0
    state, told = judged(steps, REWINDING)
    assert [(one.kind, one.step) for one in told] == [(Kind.LOSS_SPIKE, 600)]
    assert level(state) == pytest.approx(-99.0, abs=0.1)


def test_a_loss_of_exactly_zero_now_and_then_teaches_nothing() -> None:
    steps = rows(800)
    for row in steps[::50]:
        row["loss"] = 0.0
    state, told = judged(steps)
    assert told == []
    assert level(state) == pytest.approx(np.log(2.0), abs=0.02)
