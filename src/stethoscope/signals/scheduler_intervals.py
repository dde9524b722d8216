"""What the source says about how often Lightning moves its schedules."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.settings.scheduler_intervals import scheduler_intervals
from stethoscope.run import Run, Where
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True)
class SchedulerIntervals:
    """`with_every_batch` is where a schedule is moved so, None where one is moved once an epoch."""

    with_every_batch: Where | None


def measure(run: Run) -> SchedulerIntervals | Missing:
    """Look for schedules that are handed over with an interval."""
    if run.program is None:
        return Missing("the training source was not found")
    found = scheduler_intervals(run.program)
    if not found:
        return Missing("no schedule is handed over with an interval")
    every = all(one.unit == "step" for one in found)
    return SchedulerIntervals(found[0].where if every else None)
