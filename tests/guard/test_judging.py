"""The judge as a whole: NaN teaches nothing, the state survives, healthy runs get silence, rewinds count."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.guard import judging
from stethoscope.guard.happening import Answer, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import MOST_REWINDS, REWIND_SPAN, Policy, Threshold

from .judges.runs import INF, NAN, REWINDING, judged, rows, warnings

BAD = {"loss": NAN, "loss/l1": INF, "grad_norm": NAN, "input": NAN, "skipped": 1.0}


def test_one_nan_poisons_no_statistic() -> None:
    steps = rows(400)
    steps[200] |= BAD
    after, _ = judged(steps)
    without, _ = judged(steps[:200] + steps[201:])
    assert after.losses.level == without.losses.level
    assert after.gradients.level == without.gradients.level


def test_a_spike_after_a_nan_is_seen_at_once() -> None:
    steps = rows(400)
    steps[200] |= BAD
    steps[201] |= {"loss": 30.0, "grad_norm": 40.0}
    _, told = judged(steps)
    assert {one.kind for one in told if one.step == 201} == {Kind.LOSS_SPIKE, Kind.GRADIENT_SPIKE}


def test_one_nan_is_one_line_and_nothing_follows_it() -> None:
    steps = rows(1000)
    steps[200] |= BAD
    _, told = judged(steps, REWINDING)
    assert [(one.step, one.kind, one.answer) for one in told] == [(200, Kind.NON_FINITE_INPUT, Answer.NONE)]


def test_nan_is_never_taken_for_zero() -> None:
    policy = Policy(thresholds={"loss": Threshold(warn_below=0.5)})
    steps = rows(200)
    steps[150] |= {"loss": NAN}
    _, told = judged(steps, policy)
    assert [one.kind for one in told] == [Kind.NON_FINITE_LOSS]


def test_a_run_of_nothing_but_nan_is_survived() -> None:
    state, told = judged([dict.fromkeys(("loss", "grad_norm", "input", "lr", "loss_scale"), NAN)] * 300)
    assert told
    assert json.dumps(judging.to_state(state), allow_nan=False)


def sick_run() -> list[dict[str, float]]:
    """A bit of everything."""
    steps = rows(700, loss_scale=65536.0, **{"loss/l1": 1.0, "loss/l2": 0.2})
    steps[150] |= {"grad_norm": INF, "skipped": 1.0}
    for row in steps[151:]:
        row["loss_scale"] = 32768.0
    steps[200] |= BAD
    for row in steps[300:]:
        row["loss"] *= 2.0
    steps[300]["loss"] *= 20.0
    steps[400]["grad_norm"] = 90.0
    return steps


@pytest.mark.parametrize("at", [0, 1, 100, 201, 304, 650])
def test_the_state_survives_a_resume_exactly(at: int) -> None:
    steps = sick_run()
    whole, told = judged(steps, REWINDING)
    half, before = judged(steps[:at], REWINDING)
    text = json.dumps(judging.to_state(half), allow_nan=False)
    resumed = judging.from_state(json.loads(text))
    assert resumed == half
    again, after = judged(steps[at:], REWINDING, resumed)
    assert (again, before + after) == (whole, told)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"version": 2},
        {"version": 1, "clock": "x"},
        {"version": 1, "what": 1},
        {"version": 1, "losses": 3},
    ],
)
def test_a_state_that_is_none_says_so(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"version|clock|what|losses"):
        judging.from_state(broken)


quantities = st.dictionaries(
    st.sampled_from(
        ["loss", "loss/a", "loss/b", "grad_norm", "input", "loss_scale", "skipped", "lr", "update_ratio", "x"]
    ),
    st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 65536.0, -1.0, 1e300, 5e-324])),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(quantities, max_size=12), st.integers(1, 12))
def test_whatever_is_seen_the_judge_survives_and_its_state_is_plain(
    steps: list[dict[str, float]], times: int
) -> None:
    policy = Policy(rewind=True, thresholds={"loss": Threshold(0.1, 10.0, 0.01, 100.0)})
    state, told = judged(steps * times, policy)
    state = judging.after_rewind(state)
    state, more = judged(steps, policy, state)
    assert judging.from_state(json.loads(json.dumps(judging.to_state(state), allow_nan=False))) == state
    for one in [*told, *more]:
        assert one.text()
        json.dumps(dict(one.facts), allow_nan=False)


def test_a_rewind_is_asked_for_once_while_it_is_on_its_way() -> None:
    bad = {**rows(1)[0], **BAD}
    _, told = judged([*rows(100), *[bad] * 9], REWINDING)
    assert [one.answer for one in told].count(Answer.REWIND) == 1


def test_after_a_rewind_the_level_is_that_of_before() -> None:
    steps = rows(500)
    for row in steps[300:]:
        row["loss"] *= 6.0
    steps[300]["loss"] *= 9.0
    steps[300]["grad_norm"] *= 50.0
    state, _ = judged(steps[:309], REWINDING)
    state = judging.after_rewind(state)
    assert judging.from_state(judging.to_state(state)) == state
    before, _ = judged(rows(300))
    assert state.losses.level.level == pytest.approx(before.losses.level.level, abs=0.02)
    assert all(at <= 300 for at, _ in state.losses.block)
    _, told = judged(rows(500, seed=4), REWINDING, state)
    assert told == []


def lasting_spike() -> list[dict[str, float]]:
    steps = rows(220)
    for row in steps[200:]:
        row["loss"] *= 3.0
    steps[200]["loss"] *= 9.0
    steps[200]["grad_norm"] *= 50.0
    return steps


def test_the_third_rewind_within_the_span_is_a_stop() -> None:
    state, answers = judging.begin(REWINDING), []
    for _ in range(MOST_REWINDS + 1):
        state, told = judged(lasting_spike(), REWINDING, state)
        answers += [one.answer for one in told if one.answer is not Answer.NONE]
        state = judging.after_rewind(state)
    assert answers == [Answer.REWIND] * MOST_REWINDS + [Answer.STOP]


def test_rewinds_of_long_ago_do_not_count() -> None:
    state = judging.begin(REWINDING)
    for _ in range(MOST_REWINDS):
        state, _ = judged(lasting_spike(), REWINDING, state)
        state = judging.after_rewind(state)
    state, _ = judged(rows(REWIND_SPAN + 1), REWINDING, state)
    _, told = judged(lasting_spike(), REWINDING, state)
    assert [one.answer for one in warnings(told)] == [Answer.REWIND]


def test_the_steps_of_a_resumed_run_need_not_begin_at_zero() -> None:
    policy = REWINDING
    state = judging.begin(policy)
    told = []
    for at, values in enumerate(lasting_spike()):
        state, happened = judging.update(state, Observation(70_000 + at, 0.0, values), policy)
        told += happened
    assert [one.onset for one in warnings(told)] == [70_200]


@pytest.mark.parametrize("seed", range(3))
def test_healthy_noise_gets_silence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 5000
    levels = 0.05 + 2.0 * (1.0 + np.arange(count) / 30.0) ** -0.6
    for losses in (
        levels * rng.lognormal(0.0, 0.25, count),
        levels * rng.lognormal(0.0, 1.0, count),
        levels - 1.0 + 0.02 * rng.standard_normal(count),
        levels * (1.0 + 0.05 * rng.standard_t(4, count)),
    ):
        _, told = judged(({"loss": loss, "lr": 1e-3} for loss in losses.tolist()), REWINDING)
        assert warnings(told) == []


def test_a_step_costs_little() -> None:
    steps = rows(3000, loss_scale=65536.0, **{"loss/a": 1.0, "loss/b": 0.5, "loss/c": 0.5})
    begun = time.process_time()
    judged(steps)
    # 16 microseconds on the machine this was written on; the bound leaves room for a busy one.
    assert (time.process_time() - begun) / 3000 < 100e-6


def test_every_warning_says_what_it_means_and_what_to_try() -> None:
    _, told = judged(sick_run(), REWINDING)
    assert warnings(told)
    for one in warnings(told):
        assert one.seen[0].isupper()
        assert one.seen.endswith(".")
        assert one.means
        assert one.try_first
        assert one.severity is Severity.WARNING or one.answer is not Answer.NONE
