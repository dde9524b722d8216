"""Between two evaluations held-out data lose most of what they had gained, and it does not come back.

## What it checks
Every held-out metric with a known direction and five evaluations or more: whether all of them fall at the
same evaluation, by half or more of what they had gained since the first one and by eight times the usual
change, and end well below their best. It says whether they improve again behind the fall, as at the start,
or stay.

## Why it matters
Overfitting and a rate that is too high take many steps to undo what was learned. What is gone between two
evaluations was taken at one place: new weights behind a resume that loaded none, other data from there on,
a rate that leapt.

## When it is harmless
A restart of the learning rate unsettles held-out scores for a while: where the rate was raised to what it
had been before, nothing is said. A curriculum that is followed by the evaluation changes the yardstick.

## References
- torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.fall_back import BEFORE, FallBack, fall_back
from stethoscope.detectors.levels import levels
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL762", since="0.8", severity=Severity.WARNING)

AT_ONCE = 0.5  # of all that was lost since the best evaluation
RAISED = 1.5  # times the rate before the fall
LEAST_LINES = 8  # of the training loss
MISSING = 0.1  # of what training had gained, at most, where it is back


def examine(
    validation: Validation,
    loss: TrainLoss | None,
    rates: LearningRate | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire where every metric falls back at one evaluation."""
    judged = [metric for metric in validation.judged.values() if len(metric.series) > BEFORE]
    if not judged:
        raise InsufficientData("too few evaluations to tell a fall from noise", EVALUATE_MORE)
    if curriculum is not None or (loss is not None and not loss.measures_progress):
        return
    falls = [fall_back(metric.sign * metric.series.values) for metric in judged]
    seen = falls[0]
    if seen is None or any(one is None or one.at != seen.at for one in falls):
        return
    step = int(judged[0].series.steps[seen.at])
    before = int(judged[0].series.steps[seen.at - 1])
    if _rate_comes_back(rates, before, step) or not _falls_at_once(judged[0], seen):
        return
    yield _told(judged[0], seen, falls, _training_is_back(loss, step))


def _falls_at_once(metric: Metric, seen: FallBack) -> bool:
    """Whether this one evaluation lost most of what was lost since the best, and did not end a decline."""
    best = float(np.max(metric.sign * metric.series.values[: seen.at]))
    return seen.before - seen.after > AT_ONCE * (best - seen.after)


def _rate_comes_back(rates: LearningRate | None, before: int, step: int) -> bool:
    """Whether the rate was raised between two evaluations to what it had been earlier in the run."""
    if rates is None:
        return False
    rate = rates.main.finite()
    earlier, between = (
        rate.values[rate.steps <= before],
        rate.values[(rate.steps > before) & (rate.steps <= step)],
    )
    if len(earlier) == 0 or len(between) == 0:
        return False
    highest = float(between.max())
    return RAISED * float(earlier[-1]) < highest <= 1.01 * float(earlier.max())


def _training_is_back(loss: TrainLoss | None, step: int) -> bool | None:
    """Whether training ends about where it was before the fall; None where it cannot be told."""
    if loss is None or len(loss.series.finite()) < LEAST_LINES:
        return None
    series = loss.series.finite()
    at = int(np.searchsorted(series.steps, step))
    if not 0 < at < len(series):
        return None
    level = levels(series.values)
    before, last = float(level[:at].min()), float(level[-1])
    return last - before <= MISSING * (float(series.values[0]) - before)


def _told(metric: Metric, seen: FallBack, falls: list[FallBack | None], back: bool | None) -> Finding:
    series = metric.series
    step = int(series.steps[seen.at])
    again = any(one is not None and one.learns_again for one in falls)
    best = metric.sign * float(np.max(metric.sign * series.values[: seen.at]))
    return Finding(
        series.where(step, int(series.steps[-1])),
        f"{series.name} goes from {metric.sign * seen.before:.4g} to {metric.sign * seen.after:.4g} "
        f"between two evaluations, at step {step:,}, and ends at {metric.sign * seen.last:.4g}; "
        f"its best was {best:.4g}",
        {
            "before": metric.sign * seen.before,
            "after": metric.sign * seen.after,
            "last": metric.sign * seen.last,
            "learns_again": again,
            "stays": not again,
            "training_is_back": back,
        },
        onset=step,
    )
