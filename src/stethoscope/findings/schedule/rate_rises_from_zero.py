"""The learning rate comes down to nothing and rises again, the way it came.

## What it checks
The logged rate falls below a hundredth of its peak in the first nine tenths of the log, and climbs to at
least half of the peak again over ten lines or more, without a leap. Schedules whose settings or source
speak of cycles are left out.

## Why it matters
A cosine that is asked for a step beyond its length goes back up. The schedule counts something else than
the training does: batches instead of updates, or one step for every process. Half of what the rate did was
not meant.

## When it is harmless
Cyclic schedules rise on purpose; warm restarts leap instead of climbing.

## References
- `torch.optim.lr_scheduler.CosineAnnealingLR`: the rate rises again behind `T_max`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.schedule_settings import ScheduleSettings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SCH151", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 40
NOTHING = 0.01  # of the peak
BACK = 0.5  # of the peak
CLIMB = 10  # lines
LEAP = 0.2  # of the peak between two lines
LATEST = 0.9  # of the log; a rise at its very end may be a last line
CYCLES = ("Cyclic", "cyclic", "WarmRestarts", "num_cycles", "with_restarts", "triangular", "SGDR")


def examine(
    rates: LearningRate, settings: ScheduleSettings | None, sources: Sources | None
) -> Iterator[Finding]:
    """Fire where the rate climbs again after it had come down to nothing."""
    series = rates.main.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the learning rate are too few to see its schedule")
    if (settings is not None and settings.cyclic) or (sources is not None and sources.mention(*CYCLES)):
        return
    values = series.values
    top = int(np.argmax(values))
    peak = float(values[top])
    low = np.flatnonzero(values[top : int(LATEST * len(values))] < NOTHING * peak)
    if peak <= 0.0 or len(low) == 0:
        return
    bottom = top + int(low[0])
    back = np.flatnonzero(values[bottom:] >= BACK * peak)
    climbs = len(back) > 0 and back[0] >= CLIMB
    if not climbs or np.diff(values[bottom : bottom + int(back[0]) + 1]).max() > LEAP * peak:
        return
    step, last = int(series.steps[bottom]), max(1, int(series.steps[-1]))
    yield Finding(
        series.where(step, int(series.steps[bottom + int(back[0])])),
        f"{series.name} is down to {values[bottom]:.3g} at step {step:,} and climbs back to "
        f"{values[bottom:].max():.3g}: the schedule is over after {step / last:.0%} of the run",
        {"step": step, "peak": peak, "share": step / last},
        onset=step,
    )
