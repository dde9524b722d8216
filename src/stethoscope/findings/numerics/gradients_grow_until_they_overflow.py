"""The gradient norm doubles from line to line until it is no number any more.

## What it checks
The last finite gradient norms before the first one that is not, or before a loss that is not: at least
three steps up in a row, each by half or more, to at least ten times what was usual before.

## Why it matters
It tells a run that runs away from one that met a bad batch. A bad batch comes out of nothing, between two
ordinary lines. Here each update made the next gradient larger, for as many lines as one can count: a rate
that is too high, no clip, or a change of the task that the weights were not made for.

## When it is harmless
A norm that grows and stays finite is a spike or a drift, and other rules look at it.

## References
- Gradients that grow by a constant factor per update are those of an unstable iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="NUM150", since="0.2", severity=Severity.WARNING)

RUNS_UP = 3  # steps up in a row
FACTOR = 1.5  # of each
HEIGHT = 10.0  # times the usual norm
LEAST_BEFORE = 10  # ordinary lines that say what is usual


def examine(gradients: GradNorm, loss: TrainLoss | None) -> Iterator[Finding]:
    """Fire on a climb that ends in a value that is not finite."""
    series = gradients.series
    end = _first_bad(series, loss)
    if end is None:
        return
    climb = _climb(series, end)
    if end - climb < LEAST_BEFORE:
        raise InsufficientData("too few gradient norms before the first that is not finite")
    usual = float(np.median(series.values[: end - climb]))
    last = float(series.values[end - 1])
    if climb < RUNS_UP or usual <= 0.0 or last < HEIGHT * usual:
        return
    first = int(series.steps[end - climb])
    yield Finding(
        series.where(first, int(series.steps[end - 1])),
        f"{series.name} climbs from {usual:.3g} to {last:.3g} over {climb} lines from step {first:,} on, "
        "and is no number after it",
        {"usual": usual, "last": last, "lines": climb},
        onset=first,
    )


def _first_bad(series: Series, loss: TrainLoss | None) -> int | None:
    """The position of the first norm that is not finite, or that belongs to a loss that is not."""
    bad = ~np.isfinite(series.values)
    if loss is not None and loss.series.axis == series.axis:
        bad |= np.isin(series.steps, loss.series.steps[~np.isfinite(loss.series.values)])
    return int(np.argmax(bad)) if bad.any() else None


def _climb(series: Series, end: int) -> int:
    """How many lines before a position each rise by the factor."""
    lines = 0
    while (
        end - lines >= 2 and series.values[end - lines - 1] >= FACTOR * series.values[end - lines - 2] > 0.0
    ):
        lines += 1
    return lines
