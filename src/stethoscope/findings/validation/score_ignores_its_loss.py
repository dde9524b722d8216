"""The validation loss falls, and the score of the same pictures or values gains nothing.

## What it checks
A validation loss that ends at three fifths of its first value or less, beside a PSNR, an SSIM or an R2 of the
same evaluations, none of which is better at the end than at first. Beside a share of right answers that comes
to nothing at all, a loss that ends at nine tenths of its first value is enough.

## Why it matters
Such a score is a function of the error. A loss that falls without it rewards something else: a term with the
wrong sign, a term that outweighs the error; or the score is computed from something else.

## When it is harmless
A loss for looks (adversarial, perceptual) is meant to buy them with a part of such a score, and a score near
its bound has nothing to gain. Shares that ask for much stay at nothing for long. So this is mostly a note. It
is a warning where the loss comes down to half and the score stands still altogether: a PSNR that does not
move by a tenth of a decibel, an accuracy at nothing.

## References
- Blau and Michaeli, "The Perception-Distortion Tradeoff", 2018
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss import words
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="VAL331", since="0.6", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
FALLS = 0.6  # of its first value, or less, is what the validation loss has come down to
FALLS_BESIDE_NOTHING = 0.9
SHARES = frozenset({"accuracy", "acc", "iou", "miou", "dice", "recall", "precision", "f1"})
FAR = 0.5  # of its first value, beside a score that stands still: this is no matter of looks
MANY_EVALUATIONS = 8
FLAT_DB = 0.1
OF_A_CHOICE = frozenset({"accuracy", "acc", "top1", "acc1"})
NOTHING = 0.02  # of the range from 0 to 1
OF_ERRORS = frozenset({"psnr", "ssim", "r2"})
NEAR_BOUND = 0.95  # of the highest value of a score that has one
BOUNDED = frozenset({"ssim", "r2"})


def examine(validation: Validation) -> Iterator[Finding]:
    """Note scores of an error that do not follow their loss."""
    held = validation.metrics.get("val/loss")
    scores = [metric for name, metric in validation.metrics.items() if words(name) & (OF_ERRORS | SHARES)]
    if held is None or not scores or len(held.series) < LEAST_EVALUATIONS:
        raise InsufficientData("no score of an error was logged beside a validation loss")
    first, last = float(held.series.values[0]), float(np.median(held.series.values[-2:]))
    at_nothing = [metric for metric in scores if _is_nothing(metric)]
    others = [metric for metric in scores if words(metric.series.name) & OF_ERRORS]
    falls_far = last <= FALLS * first and bool(others) and not any(map(_gains, others))
    if first <= 0.0 or not (falls_far or (at_nothing and last <= FALLS_BESIDE_NOTHING * first)):
        return
    score = (at_nothing or others)[0].series
    still = last <= FAR * first and _stands_still(score)
    yield Finding(
        (held.series.where(), score.where()),
        f"{held.series.name} falls from {first:.4g} to {last:.4g}, and {score.name} goes from "
        f"{score.values[0]:.4g} to {score.values[-1]:.4g}",
        {"first": first, "last": last, "stands_still": still},
        severity=Severity.WARNING if still else Severity.NOTE,
    )


def _stands_still(score: Series) -> bool:
    """Whether a score does not move at all where its loss says that it must.

    A signal-to-noise ratio is the logarithm of an error, and each tenth of a loss is ten decibels.
    """
    said, values = words(score.name), score.values
    if len(values) < MANY_EVALUATIONS:
        return False
    return bool(said & OF_A_CHOICE and float(values.max()) <= NOTHING) or (
        "psnr" in said and float(np.ptp(values)) <= FLAT_DB
    )


def _is_nothing(metric: Metric) -> bool:
    """Whether a share of right answers never comes to anything."""
    is_share = bool(words(metric.series.name) & SHARES)
    return (
        is_share and len(metric.series) >= LEAST_EVALUATIONS and float(metric.series.values.max()) <= NOTHING
    )


def _gains(metric: Metric) -> bool:
    """Whether a score gets better, or has nothing left to gain."""
    is_bounded = bool(words(metric.series.name) & BOUNDED)
    return metric.improves_since(int(metric.series.steps[0])) or (
        is_bounded and float(metric.series.values.max()) > NEAR_BOUND
    )
