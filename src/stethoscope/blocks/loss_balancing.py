"""Balances the terms of a loss: the weights move when the terms drift apart, and cannot run away.

## What it does
Each term is compared with its own beginning. The first `baseline_steps` values of a term give its baseline;
after that a running mean (in the logarithm, with `momentum`) says by which factor it has changed. A term that
has fallen less than the others gets more weight, one that has fallen more gets less:

    drift  = log(term / its baseline), minus the mean of that over all terms
    target = drift beyond +-threshold, clamped to log(min_weight) .. log(max_weight)
    log(weight) += adaptation_rate * (target - log(weight))

The last line is the whole point. It *accumulates*: a lasting drift moves the weight all the way, in about
`1 / adaptation_rate` steps. And it is *bounded*: the logarithm of a weight is an average of 0 and of targets,
and an average lies between what it is made of. So a weight never leaves `min_weight .. max_weight`, and never
goes beyond the drift that asked for it; when the terms come together again, it goes back to 1. The drifts
add up to zero, so the size of the total loss stays where it was.

Weights carry no gradient. Values that are not finite, or negative, are left out of the statistics and
counted. Everything stays on the device; the host waits only where `weights()` or `report()` are asked for,
or every `monitor_every` steps, when a line goes to Python's `logging`.

## The failure it prevents
The super-resolution system had a scheduler of this kind with momentum 0.95, rate 0.005, bounds 1e-6 and 100.
It computed its factor from 1.0 at every step and so never accumulated: in a log of 60,000 iterations the
factors stay between 0.99992 and 1.0001, and none of its settings could do anything. Two write-ups blamed it
and proposed other values for momentum, rate, baseline and bound. It also turned *down* the lagging term.

The opposite failure is a scheduler that does accumulate and is not bounded by what it sees: in a small copy
of that system a cumulative rule with the sign the wrong way round drove one weight to its bound of 100 and
the other to 0.0003; PSNR peaked at step 1000 (29.07 dB) and ended at 28.55. Bounded by 10 it ended at 29.13.

## When not to use it
Where weights have been tuned, or are part of the method (a KL term with its schedule, an adversarial loss):
it changes the experiment. For terms that may be negative. Where a term is meant to rise, as under a
curriculum. With weights that move, the total loss is no yardstick; compare runs by a metric. Under DDP each
rank sees its own losses; pass `across_ranks=True` on all ranks, so that all have the same weights.

## Example

    import torch
    from stethoscope.blocks import LossBalancer

    balancer = LossBalancer({"l1": 1.0, "ssim": 0.05}, baseline_steps=10, adaptation_rate=0.05)
    for step in range(200):
        l1 = torch.tensor(0.1 * 0.98**step)
        ssim = torch.tensor(0.3)
        loss = balancer({"l1": l1, "ssim": ssim})
    print(balancer.weights())

## References
- Chen et al., GradNorm: Gradient Normalization for Adaptive Loss Balancing, 2018
- Liu et al., End-to-End Multi-Task Learning with Attention (dynamic weight average), 2019
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

LOGGER = logging.getLogger(__name__)

# Smaller values count as this one: the logarithm of zero would be a drift without end.
FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class Balancing:
    """How weights follow the drift of their terms."""

    momentum: float = 0.99
    adaptation_rate: float = 0.01
    threshold: float = 0.05
    baseline_steps: int = 100
    min_weight: float = 1 / 3  # slower and narrower than what any metric would notice at once
    max_weight: float = 3.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"momentum is {self.momentum}; give a number from 0 up to, and not including, 1")
        if not 0.0 < self.adaptation_rate <= 1.0:
            raise ValueError(f"adaptation_rate is {self.adaptation_rate}; give a number above 0, at most 1")
        if not 0.0 <= self.threshold < math.inf:
            raise ValueError(f"threshold is {self.threshold}; give 0 or more, 0.05 for 5 %")
        if self.baseline_steps < 1:
            raise ValueError(f"baseline_steps is {self.baseline_steps}; at least one step makes a baseline")
        if not 0.0 < self.min_weight <= 1.0 <= self.max_weight < math.inf:
            raise ValueError(
                f"min_weight is {self.min_weight}, max_weight {self.max_weight}; "
                "they lie on both sides of 1, where every weight begins"
            )


class BalanceState(NamedTuple):
    """What has been learned of each term: five vectors with one place for each."""

    baseline: Tensor  # mean logarithm of the first values
    seen: Tensor  # how many values the baseline is made of
    level: Tensor  # running mean of the logarithm
    log_weight: Tensor
    ignored: Tensor  # values that were not finite, or negative


def initial_balance(terms: int, device: torch.device | None = None) -> BalanceState:
    """The state before the first step: every weight is 1."""
    zeros = torch.zeros(terms, dtype=torch.float32, device=device)
    counts = torch.zeros(terms, dtype=torch.int64, device=device)
    return BalanceState(zeros, counts, zeros.clone(), zeros.clone(), counts.clone())


def balanced(state: BalanceState, logs: Tensor, usable: Tensor, settings: Balancing) -> BalanceState:
    """The state after one step with these logarithms of the terms; those not usable teach nothing."""
    in_baseline = usable & (state.seen < settings.baseline_steps)
    seen = state.seen + in_baseline
    share = 1.0 / seen.clamp(min=1)
    baseline = torch.where(in_baseline, state.baseline + (logs - state.baseline) * share, state.baseline)
    followed = torch.lerp(logs, state.level, settings.momentum)
    level = torch.where(in_baseline, baseline, torch.where(usable, followed, state.level))
    drift = level - baseline
    drift = drift - drift.mean()
    target = drift.sign() * (drift.abs() - settings.threshold).clamp(min=0.0)
    target = target.clamp(math.log(settings.min_weight), math.log(settings.max_weight))
    moved = state.log_weight + settings.adaptation_rate * (target - state.log_weight)
    # A drift is known when all terms have a baseline; before that every weight is 1.
    is_known = (seen >= settings.baseline_steps).all()
    return BalanceState(
        baseline, seen, level, torch.where(is_known, moved, state.log_weight), state.ignored + ~usable
    )


def usable_logs(terms: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithms of loss terms, and which of them can be learned from."""
    values = terms.detach().float()
    usable = values.isfinite() & (values >= 0)
    # Not by a product: zero times NaN is NaN.
    return torch.where(usable, values, torch.ones_like(values)).clamp(min=FLOOR).log(), usable


class LossBalancer(nn.Module):
    """Adds up the terms of a loss with weights that follow their drift.

    `terms` gives each term's name and its own weight, which the moving weight multiplies. Call it with the
    terms of a step, once per step, without their weights.
    """

    baseline: Tensor
    seen: Tensor
    level: Tensor
    log_weight: Tensor
    ignored: Tensor
    steps: Tensor

    def __init__(
        self,
        terms: Mapping[str, float],
        *,
        momentum: float = 0.99,
        adaptation_rate: float = 0.01,
        threshold: float = 0.05,
        baseline_steps: int = 100,
        min_weight: float = 1 / 3,
        max_weight: float = 3.0,
        monitor_every: int = 0,
        across_ranks: bool = False,
    ) -> None:
        super().__init__()
        if not terms:
            raise ValueError("there are no terms to balance; give their names and weights")
        self.terms = dict(terms)
        self.settings = Balancing(
            momentum, adaptation_rate, threshold, baseline_steps, min_weight, max_weight
        )
        self.monitor_every, self.across_ranks = monitor_every, across_ranks
        self._unlogged = 0  # steps since the last line; moves only where lines are asked for
        for name, tensor in initial_balance(len(self.terms))._asdict().items():
            self.register_buffer(name, tensor)
        # On the device: a number of the host that moves would have torch.compile compile every step anew.
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, losses: Mapping[str, Tensor]) -> Tensor:
        """The weighted sum of a step's terms; in training mode the weights move first."""
        if losses.keys() != self.terms.keys():
            raise ValueError(f"got the terms {sorted(losses)}, not {sorted(self.terms)}")
        values = [losses[name] for name in self.terms]
        if self.log_weight.device != values[0].device:
            self.to(values[0].device)
        if self.training:
            self._learn(torch.stack([value.detach().float() for value in values]))
        factors = self._factors().unbind()
        own = self.terms.values()
        parts = [value * (factor * by) for value, factor, by in zip(values, factors, own, strict=True)]
        return sum(parts[1:], start=parts[0])

    def weights(self) -> dict[str, float]:
        """The moving weight of each term, for the log; waits for the device."""
        return dict(zip(self.terms, self._factors().tolist(), strict=True))

    def report(self) -> dict[str, dict[str, float]]:
        """For each term its weight, its baseline, its level and how many values were left out."""
        columns = {
            "weight": self._factors(),
            "baseline": self.baseline.exp(),
            "level": self.level.exp(),
            "ignored": self.ignored,
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return {
            name: dict(zip(columns, row, strict=True)) for name, row in zip(self.terms, rows, strict=True)
        }

    def get_extra_state(self) -> dict[str, Any]:
        """What the state holds beside tensors."""
        return {"terms": list(self.terms), "unlogged": self._unlogged}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same terms, in the same order."""
        if state["terms"] != list(self.terms):
            raise ValueError(f"the state is of the terms {state['terms']}, not {list(self.terms)}")
        self._unlogged = state["unlogged"]

    def _factors(self) -> Tensor:
        # Clamped again: rounding in exp may pass a bound by one digit.
        return self.log_weight.exp().clamp(self.settings.min_weight, self.settings.max_weight)

    @torch.no_grad()
    def _learn(self, terms: Tensor) -> None:
        logs, usable = usable_logs(terms)
        if self.across_ranks and torch.distributed.is_initialized():
            logs, usable = _over_ranks(logs, usable)
        before = BalanceState(self.baseline, self.seen, self.level, self.log_weight, self.ignored)
        for name, tensor in balanced(before, logs, usable, self.settings)._asdict().items():
            getattr(self, name).copy_(tensor)
        self.steps += 1
        if self.monitor_every:
            self._monitor()

    def _monitor(self) -> None:
        self._unlogged += 1
        if self._unlogged >= self.monitor_every:
            self._unlogged = 0
            weights = ", ".join(f"weight/{name} {value:.4g}" for name, value in self.weights().items())
            LOGGER.info("step %d: %s", int(self.steps), weights)


def _over_ranks(logs: Tensor, usable: Tensor) -> tuple[Tensor, Tensor]:
    """The mean over the ranks that have a usable value, so that all ranks learn the same."""
    both = torch.stack([torch.where(usable, logs, torch.zeros_like(logs)), usable.to(logs.dtype)])
    torch.distributed.all_reduce(both)
    total, number = both.unbind()
    return total / number.clamp(min=1), number > 0
