"""The learning rate falls to almost nothing in the middle of a run and warms up once more.

## What it checks
The logged rate, after its first way up: between two neighbouring lines it falls below a tenth of what it
was, and then climbs over several lines to at least half of it. Schedules that cycle, and those whose
settings say so, are left out, and so is a rate that had been spent: below a twentieth of its peak.

## Why it matters
The schedule has begun again: its state was not restored, or the count of steps was. The loss rarely shows
it while the rate is low; it shows when the rate is back at a height that the training had left behind.

## When it is harmless
A warm restart leaps up, and does not climb. A second phase of a training with a warm-up of its own is
meant: it comes with a restart that names another recipe, or at the end of a decay. A short warm-up after a
resume that ends at the rate the run had before may be meant as well; it is reported where the climb takes
ten lines or more, or goes beyond that rate.

## References
- `LRScheduler.load_state_dict`, `last_epoch`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.schedule_settings import ScheduleSettings

RULE = Rule(code="SCH150", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 20
FALL = 0.1  # of the rate before
SPENT = 0.05  # of the peak: a rate this low had ended its schedule
BACK = 0.5  # of the rate before that the climb must reach
CLIMB = 4  # lines on the way up, so that it is no single odd value
LONG = 10  # lines of a climb that nobody adds to a resume in passing
BEYOND = 1.2  # times the rate before
EARLY = 0.1  # of the log: a warm-up and the schedule behind it, joined badly, are no second beginning


def examine(rates: LearningRate, settings: ScheduleSettings | None) -> Iterator[Finding]:
    """Fire at the first fall behind which the rate climbs again."""
    series = rates.main.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the learning rate are too few to see its schedule")
    if settings is not None and settings.cyclic:
        return
    falls = _falls(series.values)
    if len(falls) == 1:  # what happens again and again is a cycle
        yield _finding(series, falls[0])


def _falls(rates: Values) -> list[int]:
    """The positions of the first low value of each fall that is followed by a climb."""
    top = np.maximum.accumulate(rates)
    before, after = rates[:-1], rates[1:]
    fell = np.flatnonzero((after < FALL * before) & (before > SPENT * top[:-1])) + 1
    return [int(at) for at in fell if at > EARLY * len(rates) and _climbs(rates, int(at))]


def _climbs(rates: Values, at: int) -> bool:
    behind, level = rates[at:], rates[at - 1]
    reached = np.flatnonzero(behind >= BACK * level)
    if len(reached) == 0 or reached[0] < CLIMB:
        return False
    steady = bool(np.all(np.diff(behind[: reached[0] + 1]) >= 0.0))
    return steady and (int(reached[0]) >= LONG or float(behind.max()) > BEYOND * float(level))


def _finding(series: Series, at: int) -> Finding:
    step, before = int(series.steps[at]), float(series.values[at - 1])
    highest = float(series.values[at:].max())
    return Finding(
        series.where(step),
        f"{series.name} falls from {before:.3g} to {series.values[at]:.3g} at step {step:,} and warms up "
        f"again, to {highest:.3g}: the schedule has begun anew",
        {"step": step, "before": before, "after": float(series.values[at]), "highest": highest},
        onset=step,
    )
