"""Adam is run at a rate far above any in use.

## What it checks
The highest learning rate of an optimizer of Adam's kind in a training from random weights: whether it is a
twentieth or more, or 0.015 or more for a network with attention. It is a warning where the loss ends above
half of its first level.

## Why it matters
Adam moves every weight by about the rate at each update, whatever its gradient. Weights are a few hundredths
large, so at such a rate a single update may replace them. The first steps throw away what the weights were
drawn to be, units die or saturate, and the network is left with little that can still learn.

## When it is harmless
Tables of embeddings, graphs of one layer, and parameters that are no network's (a picture, a camera's pose)
are fitted at such rates; so are small networks for a few rounds. Where the loss falls well, this is a note.

## References
- Kingma and Ba, "Adam", 2015, section 2.1: the step is bounded by the rate
- Smith et al., "Super-convergence", 2018: where rates that are far above the usual ones do train
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._adams_rate import LEAST_POINTS, highest_rate, is_of_adam, is_poor
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.program.index import index
from stethoscope.program.weights.attending import attends
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.sources import Sources
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET981", since="0.9", severity=Severity.WARNING)

HIGH = 0.05  # fifty times the rate that Adam comes with
HIGH_ATTENDING = 0.015  # transformers take a tenth of this


def examine(
    loss: TrainLoss,
    start: StartingPoint,
    plan: TrainingPlan,
    rates: LearningRate | None,
    sources: Sources | None,
) -> Iterator[Finding]:
    """Report a rate at which Adam's steps are as large as the weights."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    highest = highest_rate(rates, plan)
    if highest is None:
        raise InsufficientData("neither log nor settings tell the learning rate")
    bound = HIGH_ATTENDING if sources is not None and attends(index(sources.program)) else HIGH
    if highest < bound or not start.from_scratch or not is_of_adam(plan):
        return
    asked = plan["learning rate"].only()
    told = (asked.setting.where,) if asked is not None else ()
    poor = is_poor(loss)
    yield Finding(
        (*told, series.where()),
        f"Adam moves every weight by about {highest:g} at each update, and weights are a few hundredths "
        f"large; {series.name} ends at {float(series.values[-1]):.4g}",
        {"rate": highest, "poor": poor},
        severity=None if poor else Severity.NOTE,
    )
