"""Guard never freezes a run: so many skipped steps in a row, or so large a share, and it stops."""

from __future__ import annotations

import pytest

from stethoscope.guard.happening import Answer, Kind
from stethoscope.guard.policy import Policy

from .runs import INF, REWINDING, judged, rows


def skipped(count: int) -> list[dict[str, float]]:
    """Steps that were skipped for a reason other than finiteness."""
    return [{**row, "skipped": 1.0} for row in rows(count)]


def test_five_in_a_row_are_within_the_budget_and_six_are_not() -> None:
    _, told = judged([*rows(20), *skipped(5), *rows(20)])
    assert told == []
    _, told = judged([*rows(20), *skipped(6)])
    (one,) = told
    assert (one.kind, one.answer, one.onset) == (Kind.SKIP_BUDGET, Answer.STOP, 20)


def test_a_state_that_gives_one_bad_step_after_another_is_left_by_a_rewind_first() -> None:
    _, told = judged([*rows(20), *skipped(6)], REWINDING)
    assert told[-1].answer is Answer.REWIND


@pytest.mark.parametrize(("skips", "stops"), [(10, False), (11, True)])
def test_more_than_one_percent_of_a_thousand_steps_stops(skips: int, stops: bool) -> None:
    steps = rows(1000)
    for at in range(skips):
        steps[at * 80] = skipped(1)[0]
    _, told = judged(steps, Policy(rewind=True))
    assert (Answer.STOP in {one.answer for one in told}) is stops


def test_skips_of_long_ago_are_forgotten() -> None:
    steps = rows(6000)
    for at in range(0, 6000, 120):
        steps[at] = skipped(1)[0]
    _, told = judged(steps)
    assert told == []


def test_a_scaler_that_searches_from_high_up_is_within_the_budget() -> None:
    search = [
        {**row, "loss_scale": 2.0 ** (40 - at), "grad_norm": INF, "skipped": 1.0}
        for at, row in enumerate(rows(28))
    ]
    calm = rows(500, loss_scale=2.0**12)
    _, told = judged([*search, *calm])
    assert {one.answer for one in told} == {Answer.NONE}
    assert {one.kind for one in told} == {Kind.NON_FINITE_GRADIENT}


def test_twenty_overflows_in_a_row_later_on_are_a_death_spiral() -> None:
    before = rows(200, loss_scale=2.0**16)
    fall = [{**row, "loss_scale": 2.0**16, "grad_norm": INF, "skipped": 1.0} for row in rows(20)]
    _, told = judged([*before, *fall])
    assert (told[-1].kind, told[-1].answer) == (Kind.SKIP_BUDGET, Answer.STOP)
    assert "20 steps in a row" in told[-1].seen
