"""The loss has come to rest on the floor of a softmax of a softmax.

## What it checks
The training loss, where the settings give the number of classes C and a validation accuracy of 85 % or more
was logged: whether the loss began near the level of guessing, never once fell below ln(e + C - 1) - 1 (1.461
for ten classes, 3.622 for a hundred), never rose above that plus one, and ends where so many wrong answers
would leave it. Or the validation loss beside that accuracy, which ends there while no batch was ever below;
then the first losses may tell the number of classes, up to fifty. Where fewer answers are right: whether the
validation loss and the validation accuracy have the same sum at every evaluation, ln(e + C - 1), while the
accuracy rises.

## Why it matters
No cross entropy of logits has a floor there. One that is given probabilities does: its own softmax cannot
come nearer to certainty than e against C - 1 ones. Gradients are small, training is slow, and it ends early
with a loss that looks stuck, while the accuracy looks good.

## When it is harmless
Smoothed labels, mixed samples and distillation keep a loss high on purpose: where the settings name one of
them, nothing is said. A loss that is below the bound at any step has no such floor. A model that is mostly
wrong has such a loss by rights.

## References
- torch.nn.CrossEntropyLoss
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.loss_floor import (
    LEAST_POINTS,
    Floor,
    double_softmax,
    double_softmax_along,
    double_softmax_held_out,
)
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Setting, Values, Where
from stethoscope.signals.baseline import Baseline
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.settings import Settings
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS160", since="0.2", severity=Severity.WARNING)

LAST = 3  # evaluations whose median is the accuracy at the end
TOLD = 0.03  # by which the first losses may miss the loss of guessing among so many classes
MOST_TOLD = 50  # classes; among more, the first losses fit several numbers of them
BELOW = 0.99  # of the floor: a loss on held-out data that is lower is one of logits
# What keeps a loss above zero on purpose.
SOFTENS = ("smooth", "mixup", "cutmix", "distil", "teacher", "temperature", "soft_target", "mixtoken")
OFF = frozenset({"", "0", "0.0", "none", "null", "off", "false", "no"})


@dataclass(frozen=True, slots=True)
class _Classes:
    """How many classes there are, and where it is said."""

    count: int
    where: Where
    configured: bool


def examine(
    loss: TrainLoss, baseline: Baseline, validation: Validation, settings: Settings | None
) -> Iterator[Finding]:
    """Fire where floor, accuracy and number of classes fit together."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS and "val/loss" not in validation.metrics:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a floor")
    held = validation.metrics.get("val/loss")
    classes = _classes(baseline, series)
    if classes is None or (held is None and not classes.configured):
        raise InsufficientData("the settings do not say how many classes there are")
    accuracy = _accuracy(validation)
    if accuracy is None:
        raise InsufficientData("no validation accuracy was logged", 'log({"val/accuracy": correct / total})')
    if len(loss.terms) > 1 or not loss.measures_progress or any(map(_softens, settings or ())):
        return
    found = double_softmax(series.values, classes.count, accuracy) if classes.configured else None
    if held is not None and (found is None or _is_undercut(found, held.series)):
        found = double_softmax_held_out(series.values, held.series.values, classes.count, accuracy)
        series = held.series
    if found is None and held is not None and (shares := _shares_beside(held.series, validation)) is not None:
        found = double_softmax_along(loss.series.finite().values, held.series.values, shares, classes.count)
        if found is not None:
            yield _adding_up(held.series, classes, found)
        return
    if found is None:
        return
    yield Finding(
        (series.where(), classes.where),
        f"{series.name} ends at {found.level:.4g} and never falls below {found.floor:.4g}, the least that a "
        f"softmax of a softmax can give for {classes.count} classes, while {accuracy:.0%} of the answers are "
        "right",
        {
            "series": series.name,
            "floor": found.floor,
            "lowest": found.lowest,
            "level": found.level,
            "expected": found.expected,
            "classes": classes.count,
            "accuracy": accuracy,
        },
        strength=0.9,
        onset=int(series.steps[0]),
        proof="a cross entropy of logits has no floor, and this share of right answers leaves it far below",
    )


def _adding_up(held: Series, classes: _Classes, found: Floor) -> Finding:
    return Finding(
        (held.where(), classes.where),
        f"{held.name} and the share of right answers add up to {found.floor + 1.0:.4g} from evaluation to "
        f"evaluation, as they do for a softmax of a softmax over {classes.count} classes; it ends at "
        f"{found.level:.4g}",
        {"series": held.name, "floor": found.floor, "level": found.level, "classes": classes.count},
        strength=0.9,
        onset=int(held.steps[0]),
    )


def _shares_beside(held: Series, validation: Validation) -> Values | None:
    """The accuracies of the same evaluations, as shares."""
    metric = next((one for name, one in validation.metrics.items() if _is_accuracy(name)), None)
    if metric is None or not np.array_equal(metric.series.steps, held.steps):
        return None
    values = metric.series.values
    return values / 100.0 if float(values.max()) > 1.0 else values


def _classes(baseline: Baseline, loss: Series) -> _Classes | None:
    """The number of classes that the settings give, or for which guessing costs what the first losses do."""
    configured = baseline.classes
    if configured is not None and isinstance(configured.value, int):
        return _Classes(configured.value, configured.where, configured=True)
    first = float(loss.values[:3].max())
    count = round(math.exp(min(first, 10.0)))
    told = 2 < count <= MOST_TOLD and abs(math.log(count) - first) <= TOLD
    return _Classes(count, loss.where(), configured=False) if told else None


def _accuracy(validation: Validation) -> float | None:
    """The last accuracy, as a share."""
    metrics = [metric for name, metric in validation.metrics.items() if _is_accuracy(name)]
    if not metrics:
        return None
    last = float(np.median(metrics[0].series.values[-LAST:]))
    return last / 100.0 if last > 1.0 else last


def _is_accuracy(name: str) -> bool:
    said = words(name)
    return bool(said & {"accuracy", "acc", "top1", "acc1"}) and not said & {"top5", "acc5", "5"}


def _is_undercut(found: Floor, held: Series) -> bool:
    """Whether the loss on held-out data is below the floor."""
    return float(held.values.min()) < BELOW * found.floor


def _softens(setting: Setting) -> bool:
    named = any(word in setting.dotted.lower() for word in SOFTENS)
    return named and str(setting.value).strip().lower() not in OFF
