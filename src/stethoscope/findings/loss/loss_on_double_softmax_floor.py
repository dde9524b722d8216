"""The loss has come to rest on the floor of a softmax of a softmax.

## What it checks
The training loss, where the settings give the number of classes C and a validation accuracy of 85 % or more
was logged: whether the loss began near the level of guessing, never once fell below ln(e + C - 1) - 1 (1.461
for ten classes, 3.622 for a hundred), never rose above that plus one, and ends where so many wrong answers
would leave it.

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

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.loss_floor import LEAST_POINTS, Floor, double_softmax
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Setting
from stethoscope.signals.baseline import Baseline
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.settings import Settings
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS160", since="0.2", severity=Severity.WARNING)

LAST = 3  # evaluations whose median is the accuracy at the end
BELOW = 0.99  # of the floor: a loss on held-out data that is lower is one of logits
# What keeps a loss above zero on purpose.
SOFTENS = ("smooth", "mixup", "cutmix", "distil", "teacher", "temperature", "soft_target", "mixtoken")
OFF = frozenset({"", "0", "0.0", "none", "null", "off", "false", "no"})


def examine(
    loss: TrainLoss, baseline: Baseline, validation: Validation, settings: Settings | None
) -> Iterator[Finding]:
    """Fire where floor, accuracy and number of classes fit together."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a floor")
    classes = baseline.classes
    if classes is None or not isinstance(classes.value, int):
        raise InsufficientData("the settings do not say how many classes there are")
    accuracy = _accuracy(validation)
    if accuracy is None:
        raise InsufficientData("no validation accuracy was logged", 'log({"val/accuracy": correct / total})')
    if len(loss.terms) > 1 or not loss.measures_progress or any(map(_softens, settings or ())):
        return
    found = double_softmax(series.values, classes.value, accuracy)
    if found is None or _is_undercut(found, validation):
        return
    yield Finding(
        (series.where(), classes.where),
        f"{series.name} ends at {found.level:.4g} and never falls below {found.floor:.4g}, the least that a "
        f"softmax of a softmax can give for {classes.value} classes, while {accuracy:.0%} of the answers are "
        "right",
        {
            "series": series.name,
            "floor": found.floor,
            "lowest": found.lowest,
            "level": found.level,
            "expected": found.expected,
            "classes": classes.value,
            "accuracy": accuracy,
        },
        strength=0.9,
        onset=int(series.steps[0]),
    )


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


def _is_undercut(found: Floor, validation: Validation) -> bool:
    """Whether the loss on held-out data is below the floor."""
    held = validation.metrics.get("val/loss")
    return held is not None and float(held.series.values.min()) < BELOW * found.floor


def _softens(setting: Setting) -> bool:
    named = any(word in setting.dotted.lower() for word in SOFTENS)
    return named and str(setting.value).strip().lower() not in OFF
