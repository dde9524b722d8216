"""The validation is at its last level from the first evaluations on, and the training loss is where it began.

## What it checks
A run from random weights with eight evaluations or more: whether every metric with a known direction stays
within a fiftieth of its middle value from the second evaluation on, and the training loss ends at nine
tenths or more of its first value. Nothing is said about rates that still climb.

## Why it matters
A network that learns shows it on held-out data, long before single batches do. One that answers the same
from the first evaluation to the last has found the best constant answer, the mean or the commonest class, and
nothing behind it: units are dead or alike, gradients do not get through, the rate threw the weights away at
the start, or the labels tell nothing.

## When it is harmless
Trained weights: where the first scores are good, or the training loss still creeps down, this is only a note.
A task that is learned before the first loss is logged; its first loss is low already, and
more than one evaluation says so.

## References
- Karpathy, "A recipe for training neural networks", 2019
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.trend import creeps_down
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run.names import LOWER
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL248", since="0.5", severity=Severity.WARNING)

LEAST_EVALUATIONS = 8
LEAST_POINTS = 8
EARLY = 0.1  # of the steps: a log that begins later does not show the start
STAYS = 0.02  # of the middle value
BARELY = 0.02  # of one: for a score near zero that is one at best
LEARNED = 0.9  # of the first training loss
GOOD = 0.8  # a share of right answers, or of explained variance, that leaves little to learn
SHARES = frozenset({"accuracy", "acc", "r2", "f1", "auc", "map", "iou", "dice"})


def examine(
    validation: Validation, loss: TrainLoss, start: StartingPoint, rates: LearningRate | None
) -> Iterator[Finding]:
    """Fire where neither held-out data nor training show any learning."""
    judged = list(validation.judged.values())
    train = loss.series.finite()
    if not judged or max(len(one.series) for one in judged) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData("too few evaluations to say that nothing moves", EVALUATE_MORE)
    if rates is not None and rates.still_warming_up:
        raise InsufficientData("the learning rate is still warming up where the log ends")
    begins = int(train.steps[0]) <= EARLY * int(train.steps[-1])
    if not loss.measures_progress or not start.from_scratch or not begins or not all(map(_stays, judged)):
        return
    first, last = float(train.values[0]), float(np.median(train.values[-max(3, len(train) // 4) :]))
    if first <= 0.0 or last < LEARNED * first:
        return
    held = judged[0].series
    errors = [one.series for one in judged if one.better == LOWER]
    known = start.seems_untrained and not start.knows_its_task
    tuned = not known or any(creeps_down(one.steps, one.values) for one in (train, *errors))
    middle = float(np.median(held.values))
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} stays around {middle:.4g} from the second of {len(held)} evaluations on, and "
        f"{train.name} is {first:.4g} at first and {last:.4g} at the end",
        {"middle": middle, "first": first, "last": last},
        onset=int(held.steps[0]),
        severity=Severity.NOTE if tuned else None,
    )


def _stays(metric: Metric) -> bool:
    values = metric.series.values[1:]
    if len(values) < LEAST_EVALUATIONS - 1:
        return False
    middle = float(np.median(values))
    is_share = metric.sign > 0 and bool(words(metric.series.name) & SHARES)
    if is_share and GOOD <= middle <= 1.0:
        return False
    near_zero = BARELY if is_share and abs(middle) < BARELY else 0.0
    return float(np.ptp(values)) <= max(STAYS * abs(middle), near_zero)
