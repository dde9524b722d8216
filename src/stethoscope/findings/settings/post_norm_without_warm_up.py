"""A transformer that norms its sums starts at its full learning rate.

## What it checks
For transformers whose blocks norm the sum of input and branch (post-norm), trained by Adam: whether the
learning rate is at its peak within the first few steps, and high.

## Why it matters
In such networks the gradients near the output are large at the start, and Adam's second moment is young.
Without a warm-up the first updates throw the last layers far away; the loss leaps or comes to rest at the
level of a guess and never leaves it. The same rate is stable once it is reached slowly.

## When it is harmless
Networks that norm what goes into a branch (pre-norm), which most do today, start well without. Low rates do
too, and weights that are already trained.

## References
- Xiong et al., On Layer Normalization in the Transformer Architecture, 2020
- Liu et al., Understanding the Difficulty of Training Transformers, 2020
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.norm_order import NormOrder
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.warm_up import WarmUp

RULE = Rule(code="SET133", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

FEW = 10  # steps
SHORT = 0.005  # of the run
SHORT_OF_FEW = 0.02  # of a run so short that its warm-up has few steps
HIGH = 1e-3  # what Adam is mostly used with; without a warm-up post-norm networks want a tenth of it


def examine(norms: NormOrder, warm_up: WarmUp, plan: TrainingPlan, start: StartingPoint) -> Iterator[Finding]:
    """Fire where a post-norm transformer gets a high rate at once."""
    rates = [one.amount.number for one in plan["learning rate"].asked]
    rates += [one.amount.number for one in plan["learning rate"].in_effect]
    rate = max((one for one in rates if one is not None), default=None)
    if rate is None:
        raise InsufficientData("the learning rate is not known")
    if not norms.post or not start.from_scratch or rate < HIGH or not _is_adam(plan) or plan.extent.is_trial:
        return
    few = warm_up.steps is not None and warm_up.steps <= FEW and warm_up.share <= SHORT_OF_FEW
    if warm_up.share <= SHORT or few:
        yield Finding(
            (*warm_up.where, *norms.where),
            f"{warm_up.said}, the rate goes up to {rate:g}, and the network norms its sums: such a "
            "network needs a warm-up",
            evidence={"share": warm_up.share, "rate": rate},
            strength=1.0 if rate >= 3 * HIGH else 0.8,
        )


def _is_adam(plan: TrainingPlan) -> bool:
    kinds = [one.amount.value for one in plan["optimizer"].in_effect]
    kinds += [one.amount.value for one in plan["optimizer"].asked]
    return any("adam" in str(kind).lower() for kind in kinds)
