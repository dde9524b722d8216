"""A run held to a trajectory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stethoscope.run import Run
from stethoscope.trajectory import Basis, Outcome, Trajectory, hold, plan
from stethoscope.trajectory.holding import Judgement, not_examined
from stethoscope.trajectory.trajectory import Condition, Held, Row, Scale, Side, WarningSign
from tests.trajectory.made_runs import (
    cosine_rate,
    falling_loss,
    healthy,
    rising_accuracy,
    run_of,
    series,
)


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    return plan(Basis(healthy(0), [healthy(0), healthy(1)]))


def outcomes(judgement: Judgement) -> dict[str, Outcome]:
    return {one.held.name: one.outcome for one in judgement.signals}


def test_another_seed_is_held(trajectory: Trajectory) -> None:
    judged = hold(healthy(2), trajectory)
    assert outcomes(judged) == {"lr": Outcome.HELD, "loss": Outcome.HELD, "val/accuracy": Outcome.HELD}
    assert not judged.departed


def test_a_loss_that_stays_high_leaves_its_band(trajectory: Trajectory) -> None:
    sick = run_of(falling_loss(2, factor=2.5), rising_accuracy(2), cosine_rate())
    judged = hold(sick, trajectory)
    (left,) = judged.left
    assert left.held.name == "loss"
    assert left.departure is not None
    assert 340 <= left.departure.first <= 460
    assert left.departure.to_the_end
    assert left.departure.above
    assert left.departure.seen / left.departure.expected == pytest.approx(2.5, rel=0.2)


def test_a_loss_that_is_better_is_no_departure(trajectory: Trajectory) -> None:
    lucky = run_of(falling_loss(2, factor=0.3), rising_accuracy(2), cosine_rate())
    judged = hold(lucky, trajectory)
    assert not judged.departed
    assert next(one for one in judged.signals if one.held.name == "loss").better


def test_one_spike_is_no_departure(trajectory: Trajectory) -> None:
    loss = falling_loss(2)
    values = loss.values.copy()
    values[100:104] *= 50.0
    assert not hold(
        run_of(replace(loss, values=values), rising_accuracy(2), cosine_rate()), trajectory
    ).departed


@pytest.mark.parametrize("every", [2, 7, 20])
def test_the_cadence_may_differ(trajectory: Trajectory, every: int) -> None:
    for factor, departs in ((1.0, False), (3.0, True)):
        loss = falling_loss(3, factor).select(slice(None, None, every))
        assert hold(run_of(loss), trajectory).departed is departs


def test_a_shorter_run_does_not_reach_the_rest(trajectory: Trajectory) -> None:
    judged = hold(run_of(falling_loss(2, last=300), cosine_rate().select(slice(0, 30))), trajectory)
    loss = next(one for one in judged.signals if one.held.name == "loss")
    assert loss.outcome is Outcome.HELD
    assert 0 < loss.reached < len(loss.held.rows)


def test_what_was_not_logged_is_not_examined(trajectory: Trajectory) -> None:
    judged = hold(run_of(falling_loss(2)), trajectory)
    told = {name: log_this for name, _, log_this in not_examined(judged)}
    assert told["lr"] == 'log({"lr": optimizer.param_groups[0]["lr"]})'
    assert "val/accuracy" in told["val/accuracy"]
    assert judged.missing == ("lr", "val/accuracy")


def test_a_run_without_any_of_it_is_not_examined(trajectory: Trajectory) -> None:
    judged = hold(Run("x", "x"), trajectory)
    assert not judged.examined
    assert not judged.departed


def test_per_cent_are_held_to_fractions(trajectory: Trajectory) -> None:
    in_percent = run_of(falling_loss(2), rising_accuracy(2, unit=100.0), cosine_rate())
    assert outcomes(hold(in_percent, trajectory))["val/accuracy"] is Outcome.HELD
    flat = series("val/accuracy", np.arange(50, 1001, 50), np.full(20, 42.0))
    judged = hold(run_of(falling_loss(2), flat, cosine_rate()), trajectory)
    assert outcomes(judged)["val/accuracy"] is Outcome.LEFT


def test_values_that_are_not_finite_lie_in_no_band(trajectory: Trajectory) -> None:
    loss = falling_loss(2)
    values = np.where(loss.steps > 500, np.nan, loss.values)
    judged = hold(run_of(replace(loss, values=values)), trajectory)
    assert [one.held.name for one in judged.left] == ["loss"]
    assert judged.warned[0].sign.when is Condition.NOT_FINITE
    assert judged.warned[0].seen is not None
    assert judged.warned[0].seen.first == 505


def test_a_single_nan_is_no_departure(trajectory: Trajectory) -> None:
    loss = falling_loss(2)
    values = loss.values.copy()
    values[50] = np.nan
    assert not hold(
        run_of(replace(loss, values=values), rising_accuracy(2), cosine_rate()), trajectory
    ).departed


def test_another_learning_rate_leaves_its_band(trajectory: Trajectory) -> None:
    judged = hold(run_of(falling_loss(2), rising_accuracy(2), cosine_rate(peak=3e-3)), trajectory)
    assert [one.held.name for one in judged.left] == ["lr"]


def test_a_rate_logged_a_step_late_is_the_same_rate(trajectory: Trajectory) -> None:
    late = cosine_rate()
    late = replace(late, steps=late.steps + 9)
    assert not hold(run_of(falling_loss(2), rising_accuracy(2), late), trajectory).departed


def test_epochs_are_not_held_to_steps(trajectory: Trajectory) -> None:
    loss = replace(falling_loss(2), axis="epoch")
    one = next(one for one in hold(run_of(loss), trajectory).signals if one.held.name == "loss")
    assert one.outcome is Outcome.NOT_EXAMINED
    assert "epoch" in one.why


def test_while_a_run_goes_on_only_whole_stretches_are_judged() -> None:
    held = Held("loss", (Row(0, high=1.0), Row(100, high=1.0), Row(200, high=1.0)), Side.HIGH)
    steps = np.arange(0, 151, 50)
    run = run_of(series("loss", steps, np.full(len(steps), 2.0)))
    running = hold(run, Trajectory(signals=(held,)), over=False)
    over = hold(run, Trajectory(signals=(held,)), over=True)
    assert [level.last for level in running.signals[0].levels] == [0, 100]
    assert [level.last for level in over.signals[0].levels] == [0, 100, 150]


def test_a_limit_without_an_expected_value_is_a_limit() -> None:
    held = Held("loss", (Row(0, high=1.0), Row(200, high=1.0)), Side.HIGH)
    steps = np.arange(0, 201, 5)
    for value, outcome in ((0.99, Outcome.HELD), (1.01, Outcome.LEFT)):
        judged = hold(run_of(series("loss", steps, np.full(len(steps), value))), Trajectory(signals=(held,)))
        assert judged.signals[0].outcome is outcome


def test_a_single_row_speaks_for_the_first_value_after_it() -> None:
    held = Held("loss", (Row(0, 1.0, 2.0, 3.0),), Side.HIGH, Scale.LINEAR)
    judged = hold(run_of(falling_loss(0)), Trajectory(signals=(held,)))
    assert judged.signals[0].outcome is Outcome.HELD


def test_a_name_that_people_write_is_understood() -> None:
    held = Held("train_loss", (Row(0, high=9.0), Row(1000, high=9.0)), Side.HIGH)
    assert hold(run_of(falling_loss(0)), Trajectory(signals=(held,))).signals[0].outcome is Outcome.HELD


@pytest.mark.parametrize(
    ("scale", "shows"),
    [
        (np.array([65536.0] * 50), False),
        (np.array([65536.0, 32768.0, 0.5, 65536.0] * 12), False),
        (np.concatenate([[65536.0] * 10, [0.25] * 40]), True),
    ],
)
def test_a_scale_below_one_shows_only_where_it_lasts(scale: np.ndarray, shows: bool) -> None:
    sign = WarningSign("loss_scale", Condition.BELOW, 1.0, 64, "", 64)
    run = run_of(series("loss_scale", np.arange(len(scale)) * 50, scale))
    assert bool(hold(run, Trajectory(signs=(sign,))).warned) is shows


def test_a_scale_that_falls_without_end_shows() -> None:
    sign = WarningSign("loss_scale", Condition.FALLING)
    steps = np.arange(0, 3000, 50)
    for scale, shows in ((2.0 ** (16 - steps // 200), True), (2.0 ** (16 + steps // 1000), False)):
        run = run_of(series("loss_scale", steps, scale))
        assert bool(hold(run, Trajectory(signs=(sign,))).warned) is shows
