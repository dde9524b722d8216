"""The learning rate after a rewind, and who sees it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stethoscope.guard.rewind.rewinding import SlowedState, after_rewind, factor, give_back, slow_down


def test_the_rate_comes_back_in_a_straight_line() -> None:
    state = SlowedState(since=100, rate=0.5, ramp_steps=10)
    assert [factor(state, step) for step in (100, 105, 109, 110, 5000)] == [0.5, 0.75, 0.95, 1.0, 1.0]
    assert factor(state, 90) == 0.5
    assert factor(None, 3) == 1.0


def test_a_ramp_of_no_steps_slows_nothing() -> None:
    assert factor(SlowedState(5, 0.5, 0), 5) == 1.0


def test_the_second_rewind_within_the_span_is_for_good() -> None:
    first = after_rewind(None, 100, 0.5, 1000)
    assert first == SlowedState(100, 0.5, 1000, for_good=False)
    assert after_rewind(first, 9000, 0.5, 1000, span=5000) == SlowedState(9000, 0.5, 1000)
    second = after_rewind(first, 3000, 0.5, 1000, span=5000)
    assert second.for_good
    assert factor(second, 10**9) == 0.5
    assert factor(after_rewind(second, 10**6, 0.5, 1000), 10**9) == 0.25


def test_the_state_survives_a_checkpoint() -> None:
    state = SlowedState(7, 0.25, 50, for_good=True)
    assert SlowedState.from_state(state.to_state()) == state


def test_the_optimizer_sees_the_slower_rate_and_nobody_else() -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    own = optimizer.param_groups[0]["lr"]
    weight.grad = torch.ones(1)
    rates = slow_down(optimizer, 0.5)
    optimizer.step()
    give_back(rates)
    assert weight.item() == pytest.approx(0.95)
    assert optimizer.param_groups[0]["lr"] is own


@pytest.mark.parametrize("make", [torch.optim.lr_scheduler.ExponentialLR, torch.optim.lr_scheduler.StepLR])
def test_a_schedule_gives_the_same_rates_as_without(make: type) -> None:
    def rates(by: float) -> list[float]:
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
        schedule = make(optimizer, 0.9) if "Exp" in make.__name__ else make(optimizer, 3)
        seen = []
        for _ in range(10):
            slower = slow_down(optimizer, by)
            optimizer.step()
            give_back(slower)
            schedule.step()
            seen.append(optimizer.param_groups[0]["lr"])
        return seen

    assert rates(0.3) == rates(1.0)


def test_a_rate_that_is_a_tensor_stays_the_same_tensor() -> None:
    rate = torch.tensor(0.3)
    optimizer = torch.optim.Adam([nn.Parameter(torch.ones(1))], lr=rate, capturable=False, foreach=False)
    group = optimizer.param_groups[0]
    before = group["lr"]
    rates = slow_down(optimizer, 0.7)
    assert group["lr"] is before
    assert group["lr"].item() == pytest.approx(0.21)
    give_back(rates)
    assert torch.equal(before, torch.tensor(0.3))


def test_a_tensor_that_groups_share_is_multiplied_once() -> None:
    rate = torch.tensor(0.4)
    groups = [{"params": [nn.Parameter(torch.ones(1))], "lr": rate} for _ in range(2)]
    optimizer = torch.optim.SGD(groups, lr=rate)
    for group in optimizer.param_groups:
        group["lr"] = rate
    rates = slow_down(optimizer, 0.5)
    assert [group["lr"].item() for group in optimizer.param_groups] == [pytest.approx(0.2)] * 2
    give_back(rates)
    assert torch.equal(rate, torch.tensor(0.4))


def test_a_factor_of_one_touches_nothing() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=torch.tensor(0.1))
    version = optimizer.param_groups[0]["lr"]._version
    assert slow_down(optimizer, 1.0) == []
    assert optimizer.param_groups[0]["lr"]._version == version


def test_a_rate_that_the_optimizer_sets_itself_is_left_to_it() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    rates = slow_down(optimizer, 0.5)
    optimizer.param_groups[0]["lr"] = 0.01
    give_back(rates)
    assert optimizer.param_groups[0]["lr"] == 0.01
