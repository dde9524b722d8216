"""A slower learning rate after a rewind, which comes back step by step, and which no scheduler ever sees.

The loop's own rate stays in `optimizer.param_groups`; it is made smaller just for the optimizer's step and
given back behind it, so that a schedule which computes the next rate from the last one goes on undisturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from stethoscope.guard.policy import REWIND_SPAN


@dataclass(frozen=True, slots=True)
class SlowedState:
    """How slowed a run is: `rate` times its own at step `since`, and back at its own after `ramp_steps`.

    Where it is `for_good`, it stays at `rate`.
    """

    since: int
    rate: float
    ramp_steps: int
    for_good: bool = False

    def to_state(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SlowedState:
        """What `to_state` gave."""
        since, rate, ramp_steps, for_good = (state[one.name] for one in fields(cls))
        return cls(int(since), float(rate), int(ramp_steps), bool(for_good))


class Rate(NamedTuple):
    """The rate of one group of parameters as the loop set it, and as the optimizer is shown it."""

    group: dict[str, Any]
    own: Any
    shown: Any


def factor(state: SlowedState | None, step: int) -> float:
    """What the learning rate is multiplied by at a step; 1.0 where the run goes at its own."""
    if state is None:
        return 1.0
    if state.for_good:
        return state.rate
    if step - state.since >= state.ramp_steps:
        return 1.0
    share = max(0, step - state.since) / state.ramp_steps
    return state.rate + (1.0 - state.rate) * share


def after_rewind(
    state: SlowedState | None, step: int, rate: float, ramp_steps: int, span: int = REWIND_SPAN
) -> SlowedState:
    """How slowed a run is after going back at `step`; the second time within `span` steps it is for good."""
    if state is None or (step - state.since > span and not state.for_good):
        return SlowedState(step, rate, ramp_steps)
    return SlowedState(step, state.rate * rate if state.for_good else rate, ramp_steps, for_good=True)


@torch.no_grad()
def slow_down(optimizer: Optimizer, factor: float) -> list[Rate]:
    """Multiply the rate of each group; a factor of 1.0 touches nothing. `give_back` takes the result.

    A rate that is a tensor is changed in place: compiled and captured steps hold on to the object.
    """
    if factor == 1.0:
        return []
    rates: list[Rate] = []
    for group in optimizer.param_groups:
        # Groups may share one tensor as their rate, which is then multiplied once.
        if "lr" in group and not any(_is_one_tensor(group["lr"], rate.shown) for rate in rates):
            rates.append(_shown_slower(group, factor))
    return rates


@torch.no_grad()
def give_back(rates: list[Rate]) -> None:
    """Put back the rates that the loop set; one that the optimizer itself changed meanwhile stays so."""
    for group, own, shown in reversed(rates):
        if group.get("lr") is not shown:
            continue
        if isinstance(shown, Tensor):
            shown.copy_(own)
        else:
            group["lr"] = own
    rates.clear()


def _shown_slower(group: dict[str, Any], factor: float) -> Rate:
    rate = group["lr"]
    if not isinstance(rate, Tensor):
        group["lr"] = rate * factor
        return Rate(group, rate, group["lr"])
    own = rate.detach().clone()
    rate.mul_(factor)
    return Rate(group, own, rate)


def _is_one_tensor(rate: Any, other: Any) -> bool:
    return isinstance(rate, Tensor) and rate is other
