"""A network is trained from random weights at a rate that only trained weights need.

## What it checks
The highest learning rate of a training from random weights: whether it is 5e-4 or less with plain descent, or
2e-5 or less with Adam and its kind.

## Why it matters
Random weights have far to go, and the rate is what they go by. Such a run is still on its way when it ends,
however evenly its loss falls.

## When it is harmless
A training that is long enough gets there in the end, and losses that are summed and not averaged have larger
gradients. Fine-tuning takes such rates: where settings, source or log speak of earlier weights nothing is
said. So this is only a note.

## References
- Google's deep learning tuning playbook: the learning rate is the first thing to tune
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._adams_rate import highest_rate, is_of_adam
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET983", since="0.9", severity=Severity.NOTE)

LOW_ADAPTIVE = 2e-5
LOW_PLAIN = 5e-4


def examine(start: StartingPoint, plan: TrainingPlan, rates: LearningRate | None) -> Iterator[Finding]:
    """Note a rate that is low for random weights."""
    highest = highest_rate(rates, plan)
    if highest is None or plan.is_adaptive is None:
        raise InsufficientData("neither log nor settings tell the learning rate and its optimizer")
    if not start.from_scratch or start.given_in_source or (plan.is_adaptive and not is_of_adam(plan)):
        return
    if not 0.0 < highest <= (LOW_ADAPTIVE if plan.is_adaptive else LOW_PLAIN):
        return
    asked = plan["learning rate"].only()
    where = (rates.main.where(),) if rates is not None else ()
    yield Finding(
        (*((asked.setting.where,) if asked is not None else ()), *where),
        f"the learning rate is at most {highest:g}, and nothing tells of weights that were trained before",
        {"rate": highest},
    )
