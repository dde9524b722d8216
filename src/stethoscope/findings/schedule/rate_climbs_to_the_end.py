"""The log ends with the learning rate still on its way up, and little was learned.

## What it checks
A logged rate that only rises, to the last line. It is reported where the run came to its end (the log says
so, or all its planned steps are there), or where eight evaluations lie within the climb and the loss has lost
less than a sixth of its first value. Elsewhere it is noted.

## Why it matters
A warm-up that is longer than the run never gives the rate that was asked for, and nothing decays behind it:
the run learns a part of what it could. Mostly the warm-up was laid out for a longer run, or counts something
else than the run does.

## When it is harmless
A look at a run that has only begun. A range test, which raises the rate on purpose, and by factors.

## References
- `transformers.get_linear_schedule_with_warmup`, num_warmup_steps
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.ending import FINISHED, Ending
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="SCH245", since="0.5", severity=Severity.WARNING)

LEAST_POINTS = 8
LITTLE = 1 / 6  # of the first loss
MANY_EVALUATIONS = 8


def examine(
    rates: LearningRate, ending: Ending, loss: TrainLoss | None, validation: Validation | None
) -> Iterator[Finding]:
    """Fire where the rate rises to the end of a run that should have learned by then."""
    series = rates.main.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the learning rate are too few to see its schedule")
    if not rates.still_warming_up or not _by_amounts(series.values):
        return
    is_over = ending.how == FINISHED
    late = is_over or (_evaluations(validation) >= MANY_EVALUATIONS and _learned_little(loss))
    first, last = float(series.values[0]), float(series.values[-1])
    yield Finding(
        series.where(),
        f"{series.name} rises from {first:.3g} at step {int(series.steps[0]):,} to {last:.3g} at step "
        f"{int(series.steps[-1]):,}, where the log ends" + (f"; {ending.why}" if is_over else ""),
        {"first": first, "last": last, "is_over": is_over},
        onset=int(series.steps[0]),
        severity=None if late else Severity.NOTE,
    )


def _by_amounts(values: Values) -> bool:
    """Whether the rate rises by amounts and not by factors, which leave half of the way to the very end."""
    return float(values[len(values) // 2]) > 0.25 * float(values[-1])


def _evaluations(validation: Validation | None) -> int:
    return max((len(one.series) for one in validation.metrics.values()), default=0) if validation else 0


def _learned_little(loss: TrainLoss | None) -> bool:
    if loss is None or not loss.measures_progress or len(loss.series.finite()) < LEAST_POINTS:
        return False
    values = loss.series.finite().values
    return float(np.median(values[-3:])) > (1.0 - LITTLE) * float(values[0])
