"""Learning rate, standing weights, gradients, and bounds that a person sets."""

from __future__ import annotations

import pytest

from stethoscope.guard import judging
from stethoscope.guard.happening import Answer, Kind, Severity
from stethoscope.guard.policy import Policy, Threshold

from .runs import INF, NAN, judged, rows, warnings


def test_a_rate_that_falls_to_zero_is_told_once() -> None:
    _, told = judged([*rows(100), *rows(300, lr=0.0)])
    (one,) = told
    assert (one.kind, one.onset, one.facts["peak"]) == (Kind.LEARNING_RATE_ZERO, 100, 1e-3)


def test_a_rate_of_zero_from_the_start_is_told_after_fifty_steps() -> None:
    _, told = judged(rows(200, lr=0.0))
    assert [(one.kind, one.step) for one in told] == [(Kind.LEARNING_RATE_ZERO, 49)]


def test_a_warm_up_from_zero_and_a_cosine_that_touches_zero_are_silence() -> None:
    steps = rows(400)
    for at, row in enumerate(steps):
        row["lr"] = 1e-3 * at / 100 if at < 100 else 1e-3 * ((at - 100) % 100) / 100
    _, told = judged(steps)
    assert told == []


def test_weights_that_move_at_a_rate_of_zero_have_another_group() -> None:
    _, told = judged(rows(200, lr=0.0, update_ratio=1e-4))
    assert told == []


def test_weights_that_never_move_are_told_once() -> None:
    steps = rows(500, update_ratio=NAN)
    for row in steps[::50]:
        row["update_ratio"] = 0.0
    _, told = judged(steps)
    (one,) = told
    assert (one.kind, one.step) == (Kind.WEIGHTS_STAND_STILL, 50)


def test_skipped_steps_do_not_move_weights_and_that_is_right() -> None:
    steps = rows(300)
    for row in steps[::100]:
        row |= {"update_ratio": 0.0, "skipped": 1.0}
    _, told = judged(steps)
    assert told == []


def test_a_gradient_spike_is_a_note_and_far_above_the_bar() -> None:
    steps = rows(300)
    steps[200]["grad_norm"] = 50.0
    _, (one,) = judged(steps)
    assert (one.kind, one.severity) == (Kind.GRADIENT_SPIKE, Severity.NOTE)


def test_the_bar_of_gradients_is_infinite_until_enough_was_seen() -> None:
    state, _ = judged(rows(63))
    assert judging.spike_bar(state) == judging.usual_gradient(state) == INF
    state, _ = judged(rows(200))
    assert 1.0 < judging.usual_gradient(state) < 2.0 < judging.spike_bar(state) < 5.0


@pytest.mark.parametrize(
    ("threshold", "values", "answers"),
    [
        (Threshold(warn_above=3.0), [2, 4, 4, 4, 2, 4], [Answer.NONE, Answer.NONE]),
        (Threshold(warn_below=1.0), [2, 0.5, 0.5], [Answer.NONE]),
        (Threshold(stop_below=1.0), [2, 0.5], [Answer.STOP]),
        (Threshold(warn_above=3.0, stop_above=5.0), [2, 4, 6], [Answer.NONE, Answer.STOP]),
        (Threshold(stop_above=5.0), [2, INF], [Answer.STOP]),
        (Threshold(stop_above=5.0, stop_below=1.0), [2, NAN, 2], []),
    ],
)
def test_a_bound_is_told_once_per_crossing(
    threshold: Threshold, values: list[float], answers: list[Answer]
) -> None:
    policy = Policy(thresholds={"loss/l1": threshold})
    steps = [{"loss/l1": float(value)} for value in values]
    _, told = judged(steps, policy)
    crossed = warnings(told, Kind.THRESHOLD)
    assert [one.answer for one in crossed] == answers


def test_a_bound_on_what_was_not_measured_is_silent() -> None:
    _, told = judged(rows(10), Policy(thresholds={"loss_scale": Threshold(stop_below=1.0)}))
    assert told == []
