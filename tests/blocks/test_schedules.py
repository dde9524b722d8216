"""Learning-rate plans, held to torch's own schedulers."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

from stethoscope.blocks import schedules
from stethoscope.blocks.schedules import (
    SchedulePlan,
    schedule,
    schedule_chart,
    schedule_points,
    schedule_sparkline,
    trapezoid,
)
from tests.blocks.docstring_example import run_example

LR = 2e-4


def _optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)


def _rates(scheduler: lr_scheduler.LRScheduler, steps: int) -> list[float]:
    rates = []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        scheduler.optimizer.step()
        scheduler.step()
    return rates


def test_the_cosine_is_the_one_of_torch() -> None:
    ours = _rates(schedule(_optimizer(), SchedulePlan("warmup-cosine", steps=50, final=0.1)), 60)
    theirs = lr_scheduler.CosineAnnealingLR(_optimizer(), T_max=50, eta_min=0.1 * LR)
    assert ours[:51] == pytest.approx(_rates(theirs, 51), rel=1e-9)
    assert ours[50:] == pytest.approx([0.1 * LR] * 10)


def test_warm_up_and_cosine_are_torchs_in_sequence() -> None:
    ours = _rates(schedule(_optimizer(), SchedulePlan("warmup-cosine", steps=60, warmup=10)), 60)
    optimizer = _optimizer()
    rise = lr_scheduler.LinearLR(optimizer, start_factor=1 / 11, total_iters=10)
    fall = lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    theirs = lr_scheduler.SequentialLR(optimizer, [rise, fall], milestones=[10])
    assert ours == pytest.approx(_rates(theirs, 60), rel=1e-9)


def test_the_multistep_is_the_one_of_torch() -> None:
    plan = SchedulePlan("warmup-multistep", steps=40, milestones=(20, 30), gamma=0.5)
    theirs = lr_scheduler.MultiStepLR(_optimizer(), milestones=[20, 30], gamma=0.5)
    assert _rates(schedule(_optimizer(), plan), 40) == pytest.approx(_rates(theirs, 40))


def test_the_trapezoid_rises_stays_and_falls() -> None:
    plan = SchedulePlan("trapezoid", steps=100, warmup=9, cooldown=20, final=0.5)
    factors = [plan.factor(step) for step in range(103)]
    assert factors[:10] == pytest.approx(np.linspace(0.1, 1.0, 10))
    assert set(factors[9:81]) == {1.0}
    assert factors[80:101] == pytest.approx(np.linspace(1.0, 0.5, 21))
    assert factors[100:] == [0.5, 0.5, 0.5]


def test_a_trapezoid_without_cool_down_stays_up() -> None:
    assert [trapezoid(step, steps=5) for step in range(7)] == [1.0] * 7


@pytest.mark.parametrize(
    "plan",
    [
        SchedulePlan("warmup-cosine", steps=200, warmup=30, final=0.01),
        SchedulePlan("warmup-multistep", steps=200, warmup=30, milestones=(100, 150)),
        SchedulePlan("trapezoid", steps=200, warmup=30, cooldown=50),
    ],
)
def test_no_step_is_wasted_and_the_peak_is_reached_when_the_warm_up_ends(plan: SchedulePlan) -> None:
    factors = [plan.factor(step) for step in range(200)]
    assert factors[0] == 1 / 31
    assert max(factors) == factors[30] == 1.0
    assert min(factors) > 0
    assert np.all(np.diff(factors[:31]) > 0)
    assert np.all(np.diff(factors[30:]) <= 0)


def test_groups_keep_their_own_peaks() -> None:
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = torch.optim.SGD(
        [{"params": parameters[:1], "lr": 1.0}, {"params": parameters[1:], "lr": 0.1}]
    )
    scheduler = schedule(optimizer, SchedulePlan("trapezoid", steps=4, cooldown=4))
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.75, 0.075])


def test_a_schedule_goes_through_a_file_and_goes_on_exactly() -> None:
    plan = SchedulePlan("warmup-cosine", steps=80, warmup=7, final=0.05)
    optimizer = _optimizer()
    scheduler = schedule(optimizer, plan)
    _rates(scheduler, 33)
    file = io.BytesIO()
    torch.save({"scheduler": scheduler.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    other = _optimizer()
    resumed = schedule(other, plan)
    other.load_state_dict(state["optimizer"])
    resumed.load_state_dict(state["scheduler"])
    assert _rates(resumed, 40) == _rates(scheduler, 40)


def test_a_warm_up_longer_than_the_run_is_an_error_that_says_so() -> None:
    with pytest.raises(
        ValueError, match=r"warmup is 10000 optimizer steps and the run takes 3700.* 37% of its peak"
    ):
        SchedulePlan("warmup-cosine", steps=3_700, warmup=10_000)


def test_a_milestone_beyond_the_run_is_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"milestones \[50000\] lie beyond the run of 40000") as told:
        SchedulePlan("warmup-multistep", steps=40_000, milestones=(20_000, 50_000))
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"kind": "cosine"}, "kind is 'cosine'; give one of warmup-cosine"),
        ({"steps": 0}, "steps is 0"),
        ({"warmup": -1}, "warmup is -1"),
        ({"final": 1.5}, "final is 1.5"),
        ({"kind": "trapezoid", "warmup": 60, "cooldown": 60}, "together they take at most the whole run"),
        ({"kind": "warmup-multistep", "milestones": (5, 3)}, "rising order"),
        ({"kind": "warmup-multistep", "gamma": 0.0}, "gamma is 0.0"),
    ],
)
def test_plans_that_make_no_sense_are_refused(settings: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        SchedulePlan(**{"kind": "warmup-cosine", "steps": 100, **settings})


def test_points_and_chart_hold_the_learning_rate_of_every_step() -> None:
    plan = SchedulePlan("warmup-cosine", steps=30, warmup=5)
    steps, rates = schedule_points(plan, LR)
    assert steps.tolist() == list(range(30))
    expected = [LR * (1 + math.cos(math.pi * (step - 5) / 25)) / 2 for step in range(5, 30)]
    assert rates[5:] == pytest.approx(expected)
    chart = schedule_chart(plan, LR)
    np.testing.assert_array_equal(chart.lines[0].y, rates)
    assert [mark.text for mark in chart.marks] == ["warm-up ends"]


def test_a_run_of_a_million_steps_is_drawn_by_some_of_them() -> None:
    plan = SchedulePlan("trapezoid", steps=1_000_000, warmup=1000, cooldown=200_000)
    steps, rates = schedule_points(plan, most=500)
    assert (len(steps), steps[0], steps[-1]) == (500, 0, 999_999)
    assert rates[[0, -1]] == pytest.approx([1 / 1001, 1 / 200_000])


def test_the_sparkline_rises_and_falls() -> None:
    bars = schedule_sparkline(SchedulePlan("trapezoid", steps=80, warmup=19, cooldown=20), width=8).split()[
        -1
    ]
    assert len(bars) == 8
    assert bars[2:6] == "████"
    assert bars[0] < bars[1] < "█" > bars[6] > bars[7]
    assert len(schedule_sparkline(SchedulePlan("trapezoid", steps=3)).split()[-1]) == 3


def test_the_line_on_the_page_is_what_a_plan_gives() -> None:
    plan = SchedulePlan("warmup-cosine", steps=3700, warmup=500)
    assert schedule_sparkline(plan) in (schedules.__doc__ or "")


def test_the_example_runs() -> None:
    assert "█" in run_example("schedules")
