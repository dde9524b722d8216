"""The rate of an optimizer of Adam's kind, which moves every weight by about that much at each update."""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.run import Series
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.training_plan import TrainingPlan

LEAST_POINTS = 8
POOR = 0.5  # of its first level: a loss that ends above this has not lost much
FITTED = 0.15  # of its first level: what there was to learn is mostly learned
OWN_PACE = ("adamax", "dadapt", "adan")  # these are called alike and choose their steps otherwise


def is_of_adam(plan: TrainingPlan | None) -> bool:
    """Whether every optimizer that is asked for or made is of Adam's kind."""
    if plan is None:
        return False
    entry = plan["optimizer"]
    amounts = [*(one.amount for one in entry.asked), *(one.amount for one in entry.in_effect)]
    kinds = [str(amount.value).lower() for amount in amounts]
    return bool(kinds) and all("adam" in kind and not any(own in kind for own in OWN_PACE) for kind in kinds)


def highest_rate(rates: LearningRate | None, plan: TrainingPlan | None) -> float | None:
    """The highest rate that was logged, else the one that is asked for."""
    if rates is not None:
        return float(rates.main.finite().values.max())
    asked = plan["learning rate"].only() if plan is not None else None
    return asked.amount.number if asked is not None else None


def reach(rates: LearningRate | None, plan: TrainingPlan | None, loss: Series) -> float | None:
    """The sum of the rates of all updates so far: how far one weight can get, where that is known."""
    if rates is not None and rates.main.axis == "step" and len(rates.main.finite()) > 1:
        rate = rates.main.finite()
        return float(np.trapezoid(rate.values, rate.steps))
    highest = highest_rate(rates, plan)
    if highest is None or loss.axis != "step":
        return None
    return highest * float(loss.steps[-1] - loss.steps[0])


def is_fitted(loss: TrainLoss) -> bool:
    """Whether little is left of the loss."""
    level = levels((loss.progress or loss.series).finite().values)
    return float(level[-1]) < FITTED * float(level[0])


def is_poor(loss: TrainLoss) -> bool:
    """Whether the loss ends at a good part of its first level."""
    level = levels((loss.progress or loss.series).finite().values)
    return float(level[0]) > 0.0 and float(level[-1]) > POOR * float(level[0])
