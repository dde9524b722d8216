"""What training costs: steps, the share of the run that they are, and hours where the log has a clock."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Log, Run

MOST_SECONDS = 24 * 3600.0  # of one step; a log that says more has another clock
_MILLISECONDS = re.compile(r"(?:^|[^a-z])ms(?:[^a-z]|$)", re.IGNORECASE)
_SECONDS = re.compile(r"(?:^|[^a-z])s(?:ec(?:ond)?s?)?(?:[^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of training. `unit` is what the run counts in; None where the log does not tell."""

    steps: int | None = None
    share: float | None = None
    hours: float | None = None
    unit: str = "step"


NOTHING = Cost(0, 0.0, 0.0)


def cost_between(run: Run, first: int | None, last: int | None) -> Cost:
    """What it costs to train from one step to another; the whole run where `first` is None."""
    if run.steps is None:
        return Cost()
    start, end = run.steps
    begin = 0 if first is None else first
    stop = end if last is None else last
    steps = max(stop - begin, 0)
    whole = max(end - min(start, 0), 1)
    seconds = seconds_per_step(run)
    hours = steps * seconds / 3600 if seconds is not None else None
    return Cost(steps, min(steps / whole, 1.0), hours, _unit(run))


def seconds_per_step(run: Run) -> float | None:
    """How long a step took, by the clock in the log or by what it says of a step; None where neither does."""
    clocks = [paced for log in run.logs if (paced := _by_clock(log)) is not None]
    if clocks:
        return float(np.median(clocks))
    timed = run.series.get("step_time")
    if timed is None or not len(timed.finite()):
        return None
    seconds = float(np.median(timed.finite().values))
    if _MILLISECONDS.search(timed.logged_as):
        seconds /= 1000
    elif not _SECONDS.search(timed.logged_as):
        return None  # a number without a unit
    return seconds if 0 < seconds < MOST_SECONDS else None


def _by_clock(log: Log) -> float | None:
    """Seconds for a step, where the log's own lines say when it began and ended."""
    steps = [series for series in log.series if len(series) > 1 and series.axis in ("step", "epoch")]
    if log.started is None or log.last_written is None or not steps or _is_of_the_file(log):
        return None
    taken = max(int(series.steps[-1]) - int(series.steps[0]) for series in steps)
    seconds = (log.last_written - log.started) / taken if taken else 0.0
    return seconds if 0 < seconds < MOST_SECONDS else None


def _is_of_the_file(log: Log) -> bool:
    """Whether the time of the last line is only that of the file, which a copy has from elsewhere."""
    try:
        return abs(os.stat(log.file).st_mtime - (log.last_written or 0.0)) < 1.0
    except OSError:
        return True


def _unit(run: Run) -> str:
    axes = {series.axis for series in run.series.values() if len(series)}
    return "epoch" if axes == {"epoch"} else "step"
