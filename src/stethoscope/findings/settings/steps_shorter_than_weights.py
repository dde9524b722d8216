"""All steps together are shorter than random weights are large, and the loss stays high.

## What it checks
An adaptive optimizer moves a weight by about the learning rate at each update and hardly ever by more, so the
sum of all rates is as far as a weight can get. In a training from random weights the rule fires where that is
below two hundredths after a hundred steps or more, and the loss ends above half of its first level; with an
optimizer that is known to be of Adam's kind, below one hundredth, and the loss ends above a seventh.

## Why it matters
Random weights are a few hundredths large. A network none of whose weights can move by its own size is still
nearly the one that it began as. The rate is too low for a run of this length.

## When it is harmless
Weights that were trained before need smaller steps: where settings, source or log speak of such, nothing is
said; nor where a perplexity begins below a thousand, which is that of weights that know their words. While
the rate warms up there is little to see. Plain descent moves weights by the rate times their gradients, and
is left alone.

## References
- Kingma and Ba, "Adam", 2015, section 2.1: the step is bounded by the rate
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._adams_rate import (
    LEAST_POINTS,
    highest_rate,
    is_fitted,
    is_of_adam,
    is_poor,
    reach,
)
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET980", since="0.9", severity=Severity.WARNING)

LEAST_STEPS = 100
SHORT = 0.02  # random weights are a few hundredths large
VERY_SHORT = 0.01  # no network is trained by this, however its loss falls
FAR = 0.1  # a weight can get to wherever it is wanted
TRAINED = 1000.0  # a first perplexity below this: a network that knows nothing has that of its vocabulary


def examine(
    loss: TrainLoss, start: StartingPoint, rates: LearningRate | None, plan: TrainingPlan | None
) -> Iterator[Finding]:
    """Report a run whose steps cannot have led its weights anywhere."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS or series.axis != "step":
        raise InsufficientData(f"only {len(series)} losses were logged by the step")
    if rates is not None and rates.still_warming_up:
        raise InsufficientData("the learning rate still warms up where the log ends")
    if plan is not None and plan.is_adaptive is False:
        raise InsufficientData("plain descent moves weights by their gradients as well")
    is_new = start.from_scratch and start.seems_untrained and not start.given_in_source
    if not is_new or not loss.measures_progress or int(series.steps[-1] - series.steps[0]) < LEAST_STEPS:
        return
    if "perplexity" in words(series.name) and float(series.values[0]) < TRAINED:
        raise InsufficientData("a perplexity begins so low where the weights were trained before")
    far = reach(rates, plan, series)
    if far is not None and far >= FAR:
        return
    bound = SHORT if is_poor(loss) else VERY_SHORT if is_of_adam(plan) and not is_fitted(loss) else 0.0
    if far is None or not 0.0 < far < bound:
        raise InsufficientData("nothing tells whether the steps lead far enough")
    yield Finding(
        (series.where(), *((rates.main.where(),) if rates is not None else ())),
        f"the rates of all updates add up to {far:.2g}: no weight gets further than that, and random weights "
        f"are a few hundredths large; {series.name} ends at {float(series.values[-1]):.4g}",
        {"reach": far, "rate": highest_rate(rates, plan)},
    )
