"""The first thing in the chain that is not finite is named; repetitions are not told one by one."""

from __future__ import annotations

import pytest

from stethoscope.guard.happening import Answer, Kind, Severity
from stethoscope.guard.judges.non_finite import MOST, SEVERAL
from stethoscope.guard.policy import Policy

from .runs import INF, NAN, REWINDING, judged, rows, warnings


@pytest.mark.parametrize(
    ("bad", "kind", "which"),
    [
        ({"input": NAN, "loss": NAN, "grad_norm": NAN}, Kind.NON_FINITE_INPUT, "input"),
        ({"loss/fft": INF, "loss": INF, "grad_norm": NAN}, Kind.NON_FINITE_LOSS, "loss/fft"),
        ({"loss": NAN, "grad_norm": NAN}, Kind.NON_FINITE_LOSS, "loss"),
        ({"grad_norm": INF}, Kind.NON_FINITE_GRADIENT, "grad_norm"),
    ],
)
def test_the_earliest_in_the_chain_is_named(bad: dict[str, float], kind: Kind, which: str) -> None:
    _, told = judged([*rows(10), {**rows(1)[0], **bad}])
    (one,) = told
    assert (one.kind, one.facts["which"], one.severity) == (kind, which, Severity.WARNING)
    assert one.means
    assert one.try_first


def test_all_that_followed_is_in_the_chain() -> None:
    bad = {"loss/l1": 0.1, "loss/fft": NAN, "loss": NAN, "grad_norm": NAN}
    _, (one,) = judged([{**rows(1)[0], **bad}])
    assert one.facts["chain"] == ["loss/fft", "loss", "grad_norm"]
    assert "loss part fft is NaN" in one.seen


def test_a_thousand_bad_steps_are_told_a_few_times() -> None:
    bad = {**rows(1)[0], "loss": NAN, "grad_norm": NAN, "skipped": 1.0}
    _, told = judged([bad] * 3500)
    assert len(told) < 60


def test_an_overflow_that_the_scaler_handles_is_a_note() -> None:
    bad = {**rows(1)[0], "grad_norm": INF, "loss_scale": 65536.0, "skipped": 1.0}
    _, (one,) = judged([bad])
    assert (one.kind, one.severity, one.answer) == (Kind.NON_FINITE_GRADIENT, Severity.NOTE, Answer.NONE)


def test_a_loss_that_is_not_finite_is_no_ordinary_overflow() -> None:
    bad = {**rows(1)[0], "loss": INF, "grad_norm": NAN, "loss_scale": 65536.0, "skipped": 1.0}
    _, told = judged([bad])
    assert [one.kind for one in warnings(told)] == [Kind.NON_FINITE_LOSS]


@pytest.mark.parametrize("policy", [REWINDING, Policy()])
def test_several_within_a_hundred_steps_ask_for_a_rewind_where_that_is_allowed(policy: Policy) -> None:
    bad = {**rows(1)[0], "loss": NAN, "grad_norm": NAN, "skipped": 1.0}
    steps = rows(50)
    for at in (10, 20, 30):
        steps[at] = bad
    _, told = judged(steps, policy)
    asked = [one for one in told if one.facts.get("within_100_steps") == SEVERAL]
    assert [one.answer for one in asked] == [Answer.REWIND if policy.rewind else Answer.NONE]
    assert asked[0].onset == 10


def test_the_same_number_over_thousands_of_steps_asks_for_nothing() -> None:
    bad = {**rows(1)[0], "loss": NAN, "grad_norm": NAN, "skipped": 1.0}
    steps = rows(3000)
    for at in range(100, 3000, 150):
        steps[at] = bad
    _, told = judged(steps, REWINDING)
    assert {one.answer for one in told} == {Answer.NONE}


def test_ten_within_a_hundred_steps_stop_the_run() -> None:
    bad = {**rows(1)[0], "loss": NAN, "grad_norm": NAN, "skipped": 0.0}
    _, told = judged([bad] * MOST)
    assert told[-1].answer is Answer.STOP


def test_a_part_that_is_only_logged_never_stops_a_run() -> None:
    odd = [{**row, "loss/logged": NAN} for row in rows(2000)]
    _, told = judged(odd, REWINDING)
    assert {one.answer for one in told} == {Answer.NONE}
    assert "while the loss stays finite" in told[0].seen


def test_a_sparse_quantity_that_was_not_measured_is_not_bad() -> None:
    _, told = judged([{**row, "update_ratio": NAN} for row in rows(100)])
    assert told == []
