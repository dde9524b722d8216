"""Plans a learning rate in optimizer steps, checks that it fits the run, and draws it before it is trained.

## What it does
Three plans, each a pure function from the optimizer steps already taken to a factor between 0 and 1:

    warmup_cosine       up in a line, down along half a cosine to `final`
    warmup_multistep    up in a line, then times `gamma` at each milestone
    trapezoid           up in a line, flat, down in a line to `final` over the last `cooldown` steps

The warm-up of W steps begins at 1/(W + 1), not at 0, and reaches 1 at step W: no step is wasted.
`schedule(optimizer, plan)` gives torch's own `LambdaLR`, so that `state_dict` and everything that knows
torch's schedulers work. Call its `step()` once per *optimizer* step, after it.

A `SchedulePlan` that does not fit the run is an error or a warning when it is made. `schedule_points` gives
the learning rate of every step, `schedule_chart` a chart, `schedule_sparkline` one line for the terminal:

    warmup-cosine over 3700 optimizer steps  ▂▃▄▆▇██████▇▇▇▇▇▆▆▆▅▅▅▅▄▄▄▃▃▃▂▂▂▂▂▁▁▁▁▁▁

## The failure it prevents
- The mended settings of the protein system asked for a warm-up of 10,000 steps, and a decay over 500,000,
  in a run of 3,700 optimizer steps. The warm-up is 37 % done when the run ends, and the decay never begins.
  Here that is `ValueError: warmup is 10000 optimizer steps and the run takes 3700 ...`.
- The diffusion system configured cosine and warm-up and applied neither. The picture shows what is planned;
  the learning rate in the log shows what happened.
- Steps counted in batches: with an accumulation of 4, a schedule that is stepped per batch is over in a
  quarter of the run; one whose length was given in batches gets through a quarter of its way.
- A milestone behind the end of the run never comes, and nothing says so.

## When not to use it
When the length of the run is not known; `trapezoid` is the one to choose then, as its decay can begin at any
time. Cycles and warm restarts are not made here: take torch's. For a learning rate that reacts to the
validation loss there is `torch.optim.lr_scheduler.ReduceLROnPlateau`.

## Example

    import torch
    from stethoscope.blocks import SchedulePlan, schedule, schedule_sparkline

    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(3))], lr=2e-4)
    plan = SchedulePlan("warmup-cosine", steps=1000, warmup=100, final=0.01)
    print(schedule_sparkline(plan))
    scheduler = schedule(optimizer, plan)
    for _ in range(1000):
        optimizer.step()
        scheduler.step()
    print(scheduler.get_last_lr())

## References
- Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017
- Zhai et al., Scaling Vision Transformers, 2022; Hu et al., MiniCPM, 2024 (the trapezoid)
- `torch.optim.lr_scheduler.LambdaLR`
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LambdaLR

    from stethoscope.figures.chart import Chart

Kind: TypeAlias = Literal["warmup-cosine", "warmup-multistep", "trapezoid"]

MOST_POINTS = 10_000  # of a picture; runs may have millions of steps
BARS = "▁▂▃▄▅▆▇█"


def warmup_factor(step: int, warmup: int) -> float:
    """1/(W + 1) at the first step, 1 from step W on."""
    return min(1.0, (step + 1) / (warmup + 1))


def warmup_cosine(step: int, *, steps: int, warmup: int = 0, final: float = 0.0) -> float:
    """The factor of the step that follows `step` others: up in a line, down along a cosine to `final`."""
    if step < warmup:
        return warmup_factor(step, warmup)
    part = min(1.0, (step - warmup) / (steps - warmup))
    return final + (1.0 - final) * (1.0 + math.cos(math.pi * part)) / 2.0


def warmup_multistep(step: int, *, milestones: Sequence[int], gamma: float = 0.5, warmup: int = 0) -> float:
    """The factor of the step that follows `step` others: up in a line, then times gamma at each milestone."""
    passed = sum(1 for milestone in milestones if step >= milestone)
    return warmup_factor(step, warmup) * gamma**passed


def trapezoid(step: int, *, steps: int, warmup: int = 0, cooldown: int = 0, final: float = 0.0) -> float:
    """The factor of the step that follows `step` others: up in a line, flat, down in a line to `final`."""
    left = max(0, steps - step)
    if left >= cooldown:
        return warmup_factor(step, warmup)
    return final + (1.0 - final) * left / cooldown


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """A learning rate over a run of `steps` optimizer steps, as factors of its peak.

    `milestones` and `gamma` are of "warmup-multistep", `cooldown` is of "trapezoid", and `final` is where
    the other two end.
    """

    kind: Kind
    steps: int
    warmup: int = 0
    final: float = 0.0
    milestones: tuple[int, ...] = ()
    gamma: float = 0.5
    cooldown: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind is {self.kind!r}; give one of {', '.join(get_args(Kind))}")
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}; give the length of the run in optimizer steps")
        _check_warmup(self)
        _check_fall(self)

    def factor(self, step: int) -> float:
        """What the peak learning rate is multiplied with in the step that follows `step` others."""
        if self.kind == "warmup-cosine":
            return warmup_cosine(step, steps=self.steps, warmup=self.warmup, final=self.final)
        if self.kind == "trapezoid":
            return trapezoid(
                step, steps=self.steps, warmup=self.warmup, cooldown=self.cooldown, final=self.final
            )
        return warmup_multistep(step, milestones=self.milestones, gamma=self.gamma, warmup=self.warmup)


def schedule(optimizer: Optimizer, plan: SchedulePlan) -> LambdaLR:
    """Torch's scheduler for a plan; call its `step()` once per optimizer step."""
    from torch.optim.lr_scheduler import LambdaLR

    # A plain function: of any other callable LambdaLR would try to save the attributes.
    return LambdaLR(optimizer, lambda step: plan.factor(step))


def schedule_points(
    plan: SchedulePlan, lr: float = 1.0, most: int = MOST_POINTS
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The steps of a run and the learning rate of each; of longer runs, `most` steps at even distances."""
    steps = np.unique(np.linspace(0, plan.steps - 1, min(most, plan.steps)).round().astype(np.int64))
    return steps, lr * np.array([plan.factor(step) for step in steps.tolist()])


def schedule_chart(plan: SchedulePlan, lr: float = 1.0) -> Chart:
    """A picture of the learning rate over the run."""
    from stethoscope.figures.chart import Chart, Line, Mark

    steps, rates = schedule_points(plan, lr)
    marks = [Mark(plan.warmup, "warm-up ends")] if plan.warmup else []
    marks += [Mark(one, "") for one in plan.milestones if one < plan.steps]
    if plan.kind == "trapezoid" and plan.cooldown:
        marks.append(Mark(plan.steps - plan.cooldown, "cool-down begins"))
    return Chart(
        title=f"{plan.kind} over {plan.steps} optimizer steps",
        x_label="optimizer step",
        y_label="learning rate",
        lines=[Line("", steps, rates)],
        marks=marks,
    )


def schedule_sparkline(plan: SchedulePlan, width: int = 40) -> str:
    """The plan as one line of text, each character the mean factor of its stretch of the run."""
    _, factors = schedule_points(plan)
    heights = [part.mean() for part in np.array_split(factors, min(width, plan.steps))]
    bars = "".join(BARS[round(min(1.0, max(0.0, height)) * (len(BARS) - 1))] for height in heights)
    return f"{plan.kind} over {plan.steps} optimizer steps  {bars}"


def _check_warmup(plan: SchedulePlan) -> None:
    if plan.warmup < 0:
        raise ValueError(f"warmup is {plan.warmup}; give a number of optimizer steps, 0 for none")
    if plan.warmup >= plan.steps:
        reached = warmup_factor(plan.steps - 1, plan.warmup)
        raise ValueError(
            f"warmup is {plan.warmup} optimizer steps and the run takes {plan.steps}: the learning rate "
            f"would end at {reached:.0%} of its peak. Give fewer; with gradient accumulation count "
            "updates, not batches."
        )


def _check_fall(plan: SchedulePlan) -> None:
    if not 0.0 <= plan.final <= 1.0:
        raise ValueError(f"final is {plan.final}; give the last factor, from 0 to 1")
    if plan.kind == "trapezoid" and not 0 <= plan.cooldown <= plan.steps - plan.warmup:
        raise ValueError(
            f"cooldown is {plan.cooldown} and warmup {plan.warmup} of {plan.steps} optimizer steps; "
            "together they take at most the whole run"
        )
    if plan.kind == "warmup-multistep":
        _check_milestones(plan)


def _check_milestones(plan: SchedulePlan) -> None:
    if not 0.0 < plan.gamma <= 1.0:
        raise ValueError(
            f"gamma is {plan.gamma}; give what each milestone multiplies with, above 0 and up to 1"
        )
    if list(plan.milestones) != sorted(plan.milestones):
        raise ValueError(f"milestones are {plan.milestones}; give them in rising order")
    beyond = [one for one in plan.milestones if one >= plan.steps]
    if beyond:
        warnings.warn(
            f"milestones {beyond} lie beyond the run of {plan.steps} optimizer steps and never come",
            stacklevel=5,
        )
