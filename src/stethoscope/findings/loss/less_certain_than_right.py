"""The loss is higher than the share of right answers allows.

## What it checks
A classifier or language model whose first loss tells among how many it chooses, and whose share of right
answers on held-out data is logged: the training loss at the end against the cross-entropy of a model that is
right as often, knows how often, and guesses where it is wrong. It fires where the loss lies a quarter of a
nat or more above, on held-out data as well where their loss is logged, though it has never risen.

## Why it matters
Training drives a network to say how sure it is. One that is right half of the time and pays as if it hardly
knew is kept from saying so: its scores pass through a softmax twice, are divided by a temperature, or its
labels are smoothed away. The gradients are as faint as its answers.

## When it is harmless
Smoothed and mixed labels cost a part of a nat in training only. A validation loss that rose behind its
minimum belongs to a network that is too sure, which is something else. Where more than a choice is in the
loss, and its terms are logged, nothing is said; nor where source or settings speak of smoothed or mixed
labels, which leave a network of many classes a whole nat.

## References
- Guo et al., "On Calibration of Modern Neural Networks", 2017
- Cross-entropy of a model with accuracy a among C: -a ln a - (1 - a) ln((1 - a) / (C - 1))
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="LOS249", since="0.5", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
LEAST_POINTS = 10
EARLY = 0.1  # of the steps
CHOICES = (4.0, 300_000.0)  # what the first loss may tell
TIMES_CHANCE = 3.0  # a share of right answers that was learned
MOST_RIGHT = 0.9
NATS = 0.25
RISEN = 1.05  # times its minimum: a validation loss that has passed it
SOFT_LABELS = re.compile(
    r"(?:smoothing|mixup|cutmix)(?!\w*[\"']?\s*[=:]\s*0(?:\.0*)?(?![\d.]))", re.IGNORECASE
)


def examine(
    loss: TrainLoss,
    validation: Validation,
    start: StartingPoint,
    sources: Sources | None,
    settings: Settings | None,
) -> Iterator[Finding]:
    """Fire where the answers are right far more often than the loss says."""
    right, train = validation.metrics.get("val/accuracy"), loss.series.finite()
    if right is None:
        raise InsufficientData("no share of right answers was logged", 'log({"val/accuracy": ...})')
    if len(right.series) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData("too few evaluations were logged", EVALUATE_MORE)
    begins = int(train.steps[0]) <= EARLY * int(train.steps[-1])
    if not loss.measures_progress or not start.from_scratch or not begins or len(loss.terms) > 1:
        return
    if _softens_labels(sources, settings):
        return
    choices = math.exp(min(float(train.values[0]), 20.0))
    percent = 100.0 if float(right.series.values.max()) > 1.0 else 1.0
    share = float(np.median(right.series.values[-3:])) / percent
    if not CHOICES[0] <= choices <= CHOICES[1] or not TIMES_CHANCE / choices <= share <= MOST_RIGHT:
        return
    allowed = _knowing_how_often(share, choices)
    paid = float(np.median(train.values[-max(3, len(train) // 10) :]))
    held = validation.metrics.get("val/loss")
    if held is not None and len(held.series):
        if float(held.series.values[-1]) > RISEN * float(held.series.values.min()):
            return
        paid = min(paid, float(held.series.values[-1]))
    if paid < allowed + NATS:
        return
    yield Finding(
        (train.where(), right.series.where()),
        f"{right.series.name} is {share:.1%} at the end, for which a model that knows how often it is right "
        f"pays {allowed:.3g} at most, and {train.name} is {paid:.3g}: its answers are right, and unsure",
        {"right": share, "allowed": allowed, "paid": paid, "choices": choices},
        onset=int(train.steps[0]),
    )


def _knowing_how_often(share: float, choices: float) -> float:
    """The cross-entropy of the right certainty on one answer, and guesses among the others."""
    wrong = 1.0 - share
    return -share * math.log(share) - wrong * math.log(wrong / (choices - 1.0))


def _softens_labels(sources: Sources | None, settings: Settings | None) -> bool:
    """Whether labels are smoothed or mixed, as far as source and settings tell."""
    texts = [source.text for source in sources or ()]
    texts += [f"{setting.leaf}={setting.text}" for setting in settings or ()]
    return any(SOFT_LABELS.search(text) for text in texts)
