"""From one step on, every step takes longer.

## What it checks
The logged time of steps, or their logged speed: whether it has two steady levels, an earlier and a later
one that is slower by a thirtieth or more, and by many times what single steps stray. Both hold for a tenth
of the log.

## Why it matters
A card that is too hot, a neighbour on the same machine, a slow disk or one slow node among many costs time
at every step, and nothing in the loss shows it.

## When it is harmless
Longer sequences, larger crops or a larger batch take longer by plan, and so does whatever a stage of
training adds. A machine that others use has no steady speed, and nothing is said of it. So this is a note.

## References
- BigScience, the chronicles of BLOOM: a slow card found by its TFLOPs
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.speed import Speed

RULE = Rule(code="HRD101", since="0.8", severity=Severity.NOTE)

LEAST_POINTS = 40
LEAST_PART = 0.1  # of the log, on either side of the change
SLOWER = np.log(1.033)
NOISES = 6.0  # times the spread of single steps on either side
PLACES = 200  # at which a change is looked for


def examine(speed: Speed) -> Iterator[Finding]:
    """Note a lasting step in the time of steps."""
    series = speed.series
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"the speed was logged {len(series)} times only")
    times = np.log(series.values)
    at = _change(times)
    before, after = times[:at], times[at:]
    slower = float(np.median(after) - np.median(before))
    spread = max(_spread(before), _spread(after))
    if slower < SLOWER or slower < NOISES * spread:
        return
    step = int(series.steps[at])
    yield Finding(
        series.where(step),
        f"from step {step:,} on each step takes {float(np.exp(slower)) - 1:.0%} longer",
        {"step": step, "slower": float(np.exp(slower))},
        onset=step,
    )


def _change(times: Values) -> int:
    """The place that parts the log best into two levels."""
    least = max(4, int(LEAST_PART * len(times)))
    places = np.unique(np.linspace(least, len(times) - least, PLACES).astype(np.int64))
    sums, squares = np.cumsum(times), np.cumsum(times**2)
    left, whole = places.astype(np.float64), float(len(times))
    low, high = sums[places - 1], sums[-1] - sums[places - 1]
    left_over = squares[-1] - low**2 / left - high**2 / (whole - left)
    return int(places[int(np.argmin(left_over))])


def _spread(times: Values) -> float:
    """The middle spread of single steps around their level."""
    return float(np.median(np.abs(times - np.median(times)))) * 1.4826
