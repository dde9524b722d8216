"""A validation metric has the same value at nearly every evaluation.

## What it checks
Validation metrics with six evaluations or more: whether four of five have exactly the same value, to the last
digit, and that value is no good one. For shares such as an accuracy that is below one half; other metrics
must be the same at all evaluations, with digits enough to tell, and no metric beside them may move. Where the
training loss hardly falls, a share that goes to and fro between two values with digits enough counts as well,
and one above one half that is the same at each of ten evaluations while another metric moves is noted: the
share of the commonest class.

## Why it matters
A network that learns anything answers otherwise at the next evaluation. Where not one answer changes, it
gives the same answer to everything, or what is evaluated is not what is trained. A metric beside it that
moves says which: then the weights do change, and the answer does not.

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
from dataclasses import replace

import numpy as np

from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.run.names import LOWER
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL185", since="0.2", severity=Severity.WARNING)

LEAST_EVALUATIONS = 6
SHARE = 0.8  # of the evaluations
POOR = 0.5  # an accuracy above this may have reached its limit
LEARNS = 0.8  # of the first training loss
LEAST_LINES = 20
EARLY = 0.04  # of the run: where a warm-up would be
SURELY = 0.001
LEAP = 1.1  # times the first loss
FULL = 0.9  # of the highest rate
MANY = 10  # evaluations that take turns between two values, or have one that may be no limit
LIMIT = 0.97  # a share above this is one
DIGITS = 4  # a value with fewer of them is rounded too much to tell


def examine(validation: Validation, loss: TrainLoss | None, rates: LearningRate | None) -> Iterator[Finding]:
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
            same = 0.0 < value < POOR and (share >= SHARE or (learns is False and _takes_turns(values)))
            frozen = same and values[-1] < POOR
        else:
            frozen = share == 1.0 and not moving and _has_digits(value)
        beside = any(other is not metric and _moves(other.series.values) for other in metrics)
        commonest = is_share and learns is False and beside and _is_one_class(values)
        if commonest or (frozen and (values[-1] == value or share < SHARE)):
            thrown = _leaps_at_first(loss) or _begins_at_full_rate(rates)
            told = {
                "learns": learns,
                "weights_move": beside,
                "thrown": thrown,
                "exact": not is_share,
                "same_weights": _surely_falls(loss) and _are_all_the_same(metrics),
            }
            found = _finding(metric.series, share, told)
            yield replace(found, severity=Severity.NOTE) if commonest else found
            return


def _are_all_the_same(metrics: list[Metric]) -> bool:
    """Whether no evaluation differs, in metrics that would show the smallest step of the weights."""
    still = all(_commonest(metric.series.values)[1] == 1.0 for metric in metrics)
    return still and any(
        metric.better == LOWER and _has_digits(metric.series.values[0]) for metric in metrics
    )


def _surely_falls(loss: TrainLoss | None) -> bool:
    """Whether the training loss falls, however little, by more than noise makes it."""
    if loss is None or not loss.measures_progress or len(loss.series.finite()) < LEAST_EVALUATIONS:
        return False
    series = loss.series.finite()
    line = trend(series.steps, series.values)
    return _learns(loss) is True or (line is not None and line.p_falling < SURELY)


def _is_lost(loss: TrainLoss | None) -> bool:
    """Whether the training loss ends in NaN: such a network answers the same to everything."""
    return loss is not None and len(loss.series) > 0 and not bool(np.isfinite(loss.series.values[-1]))


def _finding(series: Series, share: float, told: dict[str, bool | None]) -> Finding:
    value, learns = _commonest(series.values)[0], told["learns"]
    beside = {True: ", while the training loss falls", False: ", and the training loss hardly falls"}
    return Finding(
        series.where(),
        f"{series.name} is {value:.6g} at {round(share * len(series))} of {len(series)} "
        f"evaluations{beside.get(learns, '') if learns is not None else ''}",
        {"value": value, "share": share, **told},
        onset=int(series.steps[0]),
    )


def _commonest(values: Values) -> tuple[float, float]:
    distinct, counts = np.unique(values, return_counts=True)
    most = int(np.argmax(counts))
    return float(distinct[most]), float(counts[most]) / len(values)


def _leaps_at_first(loss: TrainLoss | None) -> bool:
    """Whether the first steps carry the loss well above where it began, and above all that follows."""
    values = loss.series.finite().values if loss is not None else np.empty(0)
    if len(values) < LEAST_LINES or values[0] <= 0.0:
        return False
    highest = float(values[: max(5, round(EARLY * len(values)))].max())
    return highest > LEAP * float(values[0]) and highest > float(values[len(values) // 4 :].max())


def _begins_at_full_rate(rates: LearningRate | None) -> bool:
    """Whether the rate is at its height from the first steps on, as far as the log shows them."""
    if rates is None or rates.main.axis != "step" or len(rates.main.finite()) < LEAST_LINES:
        return False
    rate = rates.main.finite()
    at_once = int(rate.steps[0]) <= EARLY * int(rate.steps[-1])
    return at_once and float(rate.values[0]) >= FULL * float(rate.values.max())


def _is_one_class(values: Values) -> bool:
    """Whether many evaluations give one share to the last digit, which may be that of the commonest class."""
    return len(values) >= MANY and POOR <= float(values[0]) <= LIMIT and len(np.unique(values)) == 1


def _takes_turns(values: Values) -> bool:
    """Whether nearly all of many evaluations have one of two values: one answer to everything, or another."""
    distinct, counts = np.unique(values, return_counts=True)
    two = np.sort(counts)[-2:]
    told = all(map(_has_digits, distinct[np.argsort(counts)[-2:]]))
    return (
        len(values) >= MANY
        and len(two) == 2
        and int(two[0]) >= 2
        and told
        and two.sum() >= SHARE * len(values)
    )


def _moves(values: Values) -> bool:
    """Whether a metric differs from one evaluation to the next, mostly."""
    return _commonest(values)[1] < 0.5


def _has_digits(value: float) -> bool:
    return float(f"{value:.{DIGITS - 1}g}") != value


def _learns(loss: TrainLoss | None) -> bool | None:
    """Whether the training loss falls; None where none was logged that measures progress."""
    if loss is None or not loss.measures_progress or len(loss.series.finite()) < LEAST_EVALUATIONS:
        return None
    values = loss.series.finite().values
    part = max(1, len(values) // 10)
    return float(np.median(values[-part:])) < LEARNS * float(np.median(values[:part]))
