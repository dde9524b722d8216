"""The losses of single batches come again, one by one, after a fixed number of steps.

## What it checks
The logged loss, and the accuracy in training, at every distance: whether values that lie one period apart are
nearly the same, and so are those two periods apart, while those between are not. The length of an epoch need
not be known. It is a warning where neighbours are alike as well, as they are in sorted data.

## Why it matters
Batches that come again in the same order follow the order of the stored data. Where that is sorted, by class
or by length, each batch pulls towards its own kind, and the network forgets one kind while it sees the next.

## When it is harmless
An order that was shuffled once, and is only the same in every epoch, costs little: neighbours are unlike each
other there, and it is a note. A learning rate or a difficulty that has the same period makes the loss repeat
itself by design.

## References
- Mishchenko, Khaled and Richtárik, "Random Reshuffling: Simple Analysis with Vast Improvements", 2020
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.repetition import Repetition, repetition
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="LOS215", since="0.4", severity=Severity.WARNING)

LEAST_POINTS = 24
SORTED = 0.3  # the correlation of neighbours from which on they are of a kind
SAME = 0.1  # relative difference at which two periods are the same


def examine(
    loss: TrainLoss, every: EverySeries, rates: LearningRate | None, curriculum: Curriculum | None
) -> Iterator[Finding]:
    """Fire on the first of the measures of single batches that repeats itself."""
    accuracies = [one for name, one in every.series.items() if name == "train/accuracy"]
    measures = [one.finite() for one in (loss.series, *accuracies)]
    if all(len(one) < LEAST_POINTS for one in measures):
        raise InsufficientData(f"{len(measures[0])} values of the loss are too few to see any come again")
    if not loss.measures_progress:
        return
    by_design = _periods_by_design(rates, curriculum)
    for series in measures:
        seen = repetition(series.values) if len(series) >= LEAST_POINTS else None
        if seen is not None and not any(_same(_steps(seen, series), period) for period in by_design):
            yield _finding(seen, series)
            return


def _finding(seen: Repetition, series: Series) -> Finding:
    in_order = seen.neighbours >= SORTED
    of_a_kind = ", and neighbours are of a kind" if in_order else ""
    return Finding(
        series.where(),
        f"{series.name} repeats itself every {_steps(seen, series):,.0f} steps (correlation {seen.alike:.2f})"
        f"{of_a_kind}: batches come in a fixed order",
        {
            "series": series.name,
            "period": _steps(seen, series),
            "correlation": round(seen.alike, 3),
            "neighbours": round(seen.neighbours, 3),
            "sorted": in_order,
        },
        onset=int(series.steps[0]),
        severity=Severity.WARNING if in_order else Severity.NOTE,
    )


def _steps(seen: Repetition, series: Series) -> float:
    return seen.period * series.cadence()


def _periods_by_design(rates: LearningRate | None, curriculum: Curriculum | None) -> list[float]:
    designed = [rates.main] if rates else []
    if curriculum is not None and curriculum.difficulty is not None:
        designed.append(curriculum.difficulty)
    finite = [one.finite() for one in designed]
    found = [(one, repetition(one.values)) for one in finite if len(one) >= LEAST_POINTS]
    periods = [_steps(seen, one) for one, seen in found if seen is not None]
    return [*periods, *_stages(curriculum)]


def _stages(curriculum: Curriculum | None) -> list[float]:
    """How long each level of a difficulty lasts, where it rises in steps of one length."""
    difficulty = curriculum.difficulty if curriculum is not None else None
    if difficulty is None:
        return []
    rises = difficulty.steps[1:][np.diff(difficulty.values) > 0]
    lengths = np.diff(rises)
    is_even = len(lengths) > 0 and bool(np.all(np.abs(lengths - lengths[0]) <= SAME * lengths[0]))
    return [float(np.median(lengths))] if is_even else []


def _same(period: float, other: float) -> bool:
    return abs(period / other - 1.0) < SAME
