"""The answers are hardly better than guesses to the end, and the loss has come to rest where it began.

## What it checks
A run from random weights with a share of right answers, on training or held-out data. The first loss says
what a guess is right in: a network that knows nothing pays the logarithm of the number of choices. It fires
where the best share is less than a tenth of the way from there to all right, the loss has lost less than a
tenth of its first value, and hardly any of that in the second half.

## Why it matters
Nothing was learned, and more steps will not change it: the steps lead nowhere, little of the gradient
arrives, or inputs and answers have nothing to do with each other.

## When it is harmless
A run that is still young or warming up, and one whose loss still falls. Choices between two or three are left
to other rules: there are things that nobody can tell better than by a coin. Nothing is said where the share
and the loss are not of one kind: far fewer answers right than the first loss promises.

## References
- Karpathy, "A Recipe for Training Neural Networks": verify the loss at init
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import smoothed
from stethoscope.findings._first_steps import moved_nowhere
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="VAL710", since="0.8", severity=Severity.WARNING)

LEAST_POINTS = 12
LEAST_SHARES = 4
LEAST_STEPS = 100
SHARES = frozenset({"accuracy", "acc", "top1", "acc1"})
FEWEST_CHOICES = 4
MOST_CHOICES = 100_000
GAINED = 0.1  # of the way from guesses to all right
FALLEN = 0.1  # of the first loss
LATELY = 0.03  # of the first loss, in the second half
FAR = 0.02  # the sum of all rates: random weights are a few hundredths large
OTHER_TASK = 0.3  # of the guesses that are right: fewer are not about what the loss is about


def examine(
    loss: TrainLoss,
    start: StartingPoint,
    every: EverySeries,
    rates: LearningRate | None,
    plan: TrainingPlan | None,
) -> Iterator[Finding]:
    """Fire where neither the loss nor the answers leave their first level."""
    train = loss.series.finite()
    shares = [one.finite() for name, one in every.series.items() if _is_share(name)]
    shares = [one for one in shares if len(one) >= LEAST_SHARES]
    if len(train) < LEAST_POINTS or not shares or train.axis != "step":
        raise InsufficientData("no share of right answers was logged often enough beside a loss")
    if not loss.measures_progress or not start.from_scratch or (rates and rates.still_warming_up):
        return
    if int(train.steps[-1]) < LEAST_STEPS or not _rests(train.values):
        return
    level = levels(train.values)
    guesses = float(np.exp(-level[0]))
    bests = [_best(one) for one in shares]
    if not 1 / MOST_CHOICES < guesses <= 1 / FEWEST_CHOICES or max(bests) > guesses + GAINED * (1 - guesses):
        return
    if max(bests) < OTHER_TASK * guesses:
        return
    share = shares[int(np.argmax(bests))]
    yield Finding(
        (share.where(), train.where()),
        f"{share.name} is {max(bests):.3g} at best, where guesses are right in about {guesses:.2g}, and "
        f"{train.name} goes from {level[0]:.4g} to {level[-1]:.4g}",
        {
            "best": max(bests),
            "guesses": guesses,
            "first": float(level[0]),
            "last": float(level[-1]),
            "quiet": moved_nowhere(train),
            "goes_nowhere": _goes_nowhere(rates, plan, int(train.steps[-1])),
        },
        onset=int(train.steps[0]),
    )


def _goes_nowhere(rates: LearningRate | None, plan: TrainingPlan | None, steps: int) -> bool:
    """Whether all steps of an adaptive optimizer, of the rate each, are shorter than weights are large."""
    asked = plan["learning rate"].only() if plan is not None else None
    if plan is not None and plan.is_adaptive is False:
        return False
    if rates is not None and rates.main.axis == "step":
        rate = rates.main.finite()
        gone = float(np.trapezoid(rate.values, rate.steps)) if len(rate) > 1 else 0.0
    else:
        gone = (asked.amount.number or 0.0) * steps if asked is not None else 0.0
    return 0.0 < gone < FAR


def _is_share(name: str) -> bool:
    return name.startswith(("val/", "train/")) and bool(words(name) & SHARES)


def _best(share: Series) -> float:
    """The best stretch of a share: one lucky batch does not count."""
    values = share.values / (100.0 if float(share.values.max()) > 1.0 else 1.0)
    width = max(2, len(values) // 8)
    return float(smoothed(values, width)[width - 1 :].max())


def _rests(values: Values) -> bool:
    """Whether a loss is near its first level at the end, and was about there at half time."""
    level = levels(values)
    first, middle, last = float(level[0]), float(level[len(level) // 2]), float(level[-1])
    return first > 0.0 and (1.0 - FALLEN) * first <= last and middle - last <= LATELY * first
