"""A validation metric has the same value at nearly every evaluation.

## What it checks
Validation metrics with six evaluations or more: whether four of five have exactly the same value, to the last
digit, and that value is no good one. For shares such as an accuracy that is below one half; other metrics
must be the same at all evaluations, with digits enough to tell, and no metric beside them may move.

## Why it matters
A network that learns anything answers otherwise at the next evaluation. Where not one answer changes, it
gives the same answer to everything, or what is evaluated is not what is trained.

## When it is harmless
A metric that counts successes stays at 0 until the first one, however well training goes. A score that has
reached its limit stays there. What is logged of the data alone, such as the PSNR of the noisy input or the
score of a baseline, never moves, and stands beside a score that does. Where the training loss is NaN at the
end, the network answers nothing, which is told elsewhere.

## References
- Google Research, Deep Learning Tuning Playbook
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL185", since="0.2", severity=Severity.WARNING)

LEAST_EVALUATIONS = 6
SHARE = 0.8  # of the evaluations
POOR = 0.5  # an accuracy above this may have reached its limit
LEARNS = 0.8  # of the first training loss
DIGITS = 4  # a value with fewer of them is rounded too much to tell


def examine(validation: Validation, loss: TrainLoss | None) -> Iterator[Finding]:
    """Fire on the first metric that stays where it is."""
    metrics = [metric for metric in validation.judged.values() if len(metric.series) >= LEAST_EVALUATIONS]
    if not metrics:
        raise InsufficientData("there are too few evaluations to say that none differs", EVALUATE_MORE)
    if _is_lost(loss):
        return
    learns = _learns(loss)
    moving = any(_commonest(metric.series.values)[1] < 1.0 for metric in metrics)
    for metric in metrics:
        values = metric.series.values
        value, share = _commonest(values)
        is_share = metric.better == "higher" and float(values.min()) >= 0.0 and float(values.max()) <= 1.0
        if is_share:
            frozen = share >= SHARE and 0.0 < value < POOR
        else:
            frozen = share == 1.0 and not moving and _has_digits(value)
        if frozen and values[-1] == value:
            yield _finding(metric.series, value, share, learns)
            return


def _is_lost(loss: TrainLoss | None) -> bool:
    """Whether the training loss ends in NaN: such a network answers the same to everything."""
    return loss is not None and len(loss.series) > 0 and not bool(np.isfinite(loss.series.values[-1]))


def _finding(series: Series, value: float, share: float, learns: bool | None) -> Finding:
    beside = {True: ", while the training loss falls", False: ", and the training loss hardly falls"}
    return Finding(
        series.where(),
        f"{series.name} is {value:.6g} at {round(share * len(series))} of {len(series)} "
        f"evaluations{beside.get(learns, '') if learns is not None else ''}",
        {"value": value, "share": share, "learns": learns},
        onset=int(series.steps[0]),
    )


def _commonest(values: Values) -> tuple[float, float]:
    distinct, counts = np.unique(values, return_counts=True)
    most = int(np.argmax(counts))
    return float(distinct[most]), float(counts[most]) / len(values)


def _has_digits(value: float) -> bool:
    return float(f"{value:.{DIGITS - 1}g}") != value


def _learns(loss: TrainLoss | None) -> bool | None:
    """Whether the training loss falls; None where none was logged that measures progress."""
    if loss is None or not loss.measures_progress or len(loss.series.finite()) < LEAST_EVALUATIONS:
        return None
    values = loss.series.finite().values
    part = max(1, len(values) // 10)
    return float(np.median(values[-part:])) < LEARNS * float(np.median(values[:part]))
