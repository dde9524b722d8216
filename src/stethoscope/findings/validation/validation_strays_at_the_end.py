"""The weights hardly move any more, and the validation jumps from one evaluation to the next.

## What it checks
The evaluations under a low learning rate, two fifths of its peak or less, in a run whose rate comes down to a
fifth of it: how far each one lies from the middle of its neighbours, relative to its size. It fires where
that is more than the losses of single batches stray in the same part of the run, more than a tenth, and
not much less than it was under the high rate.

## Why it matters
A validation set is larger than a batch, and always the same: beside a training loss its curve is smooth, and
it comes to rest with the rate. One that keeps jumping is measured on other samples, other crops or other
noise each time. A best checkpoint is then the luckiest draw, and small gains cannot be seen at all.

## When it is harmless
Under a high rate the weights themselves jump, and batch norms exaggerate it; that part is only compared with.
A handful of validation samples makes a coarse score, but the same one again for the same weights. Where
nearly every answer is right, or a fiftieth of the first error is left, the loss is that of the last few
samples, and they change places.

## References
- Bouthillier et al., "Accounting for Variance in Machine Learning Benchmarks", 2021
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL246", since="0.5", severity=Severity.WARNING)

LOW = 0.4  # of the peak of the rate
SPENT = 0.2  # of it, at the end
FEWEST = 4  # evaluations under the low rate
STRAYS = 0.1  # relative: half a decibel of noise is usual for a small set of pictures
TIMES_BATCHES = 1.5  # what losses of single batches stray
OF_BEFORE = 0.5  # of what the evaluations strayed under the high rate
REST = 0.02  # of its first value: an error below is that of the last few samples
SOLVED = 0.97  # of the answers are right: the loss hangs on the few that are not
ACCURACY = frozenset({"acc", "accuracy", "r2"})
DECIBELS = math.log(10.0) / 20.0  # a decibel in units of the logarithm of an error


def examine(validation: Validation, rates: LearningRate, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on the first error that keeps jumping while the rate goes down."""
    rate = rates.main.finite()
    peak = float(rate.values.max())
    if peak <= 0.0 or float(rate.values[-1]) > SPENT * peak:
        raise InsufficientData("the learning rate has not come down where the log ends")
    if _is_solved(validation):
        return
    enough = False
    for metric in validation.judged.values():
        errors = _log_errors(metric)
        if errors is None or metric.series.axis != rate.axis:
            continue
        top = int(rate.steps[int(np.argmax(rate.values))])
        low = (np.interp(metric.series.steps, rate.steps, rate.values) <= LOW * peak) & (
            metric.series.steps > top
        )
        if int(low.sum()) < FEWEST:
            continue
        enough = True
        if _is_next_to_nothing(errors, low):
            return
        found = _judged(metric.series, errors, low, loss)
        if found is not None:
            yield found
            return
    if not enough:
        raise InsufficientData("too few evaluations lie under a low learning rate", EVALUATE_MORE)


def _is_next_to_nothing(errors: Values, low: npt.NDArray[np.bool_]) -> bool:
    return float(np.median(errors[low]) - errors[0]) < math.log(REST)


def _is_solved(validation: Validation) -> bool:
    """Whether an accuracy says that nearly everything is right, as a share or in percent."""
    accuracies = (one for one in validation.judged.values() if words(one.series.name) & ACCURACY)
    ends = (one.series.finite().values[-FEWEST:] for one in accuracies)
    return any(
        len(end) and float(np.median(end)) * (0.01 if end.max() > 1.0 else 1.0) >= SOLVED for end in ends
    )


def _log_errors(metric: Metric) -> Values | None:
    """The logarithm of an error, or of the one that decibels or a perplexity stand for."""
    values, name = metric.series.values, words(metric.series.name)
    if "psnr" in name:
        return np.asarray(-DECIBELS * values, dtype=np.float64)
    if name & {"perplexity", "ppl"}:
        # A perplexity is the exponential of a loss, and strays by as much more.
        return np.asarray(np.log(np.log(values)), dtype=np.float64) if values.min() > 1.0 else None
    if metric.sign > 0 or len(values) == 0 or float(values.min()) <= 0.0:
        return None
    return np.asarray(np.log(values), dtype=np.float64)


def _judged(series: Series, errors: Values, low: npt.NDArray[np.bool_], loss: TrainLoss) -> Finding | None:
    rises = int(np.count_nonzero(np.diff(errors[low]) > 0.0))
    if rises < max(1, int(low.sum()) // 3):
        return None  # a curve that bends on its way down is no jump
    late, early = _roughness(errors[low]), _roughness(errors[~low])
    begin = int(series.steps[np.flatnonzero(low)[0]])
    train = loss.series.finite()
    batches = train.values[train.steps >= begin]
    if len(batches) < FEWEST or float(batches.min()) <= 0.0 or not loss.measures_progress:
        return None
    beside = _roughness(np.log(batches))
    if late < max(STRAYS, TIMES_BATCHES * beside) or late < OF_BEFORE * early:
        return None
    return Finding(
        (series.where(begin, int(series.steps[-1])), train.where(begin, int(train.steps[-1]))),
        f"under a low learning rate, from step {begin:,} on, {series.name} strays by {late:.0%} between "
        f"evaluations and {train.name} by {beside:.1%} between logged steps",
        {"late": late, "early": early, "batches": beside},
        onset=int(series.steps[0]),
    )


def _roughness(logs: Values) -> float:
    """How far values lie from the middle of their neighbours, as the deviation of a single one."""
    if len(logs) < 3:
        return 0.0
    off = logs[1:-1] - 0.5 * (logs[:-2] + logs[2:])
    return float(1.4826 * np.median(np.abs(off)) / math.sqrt(1.5))
