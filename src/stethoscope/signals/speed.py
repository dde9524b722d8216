"""How long each step takes, as it was logged, or as the logged throughput tells."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "step_time": time.perf_counter() - began})'


@dataclass(frozen=True, slots=True, eq=False)
class Speed:
    """The time of each step, in whatever unit: the longer, the slower."""

    series: Series


def measure(run: Run) -> Speed | Missing:
    """The step times; else one over what was done each second."""
    for name in ("step_time", "throughput", "mfu"):
        logged = run.series.get(name)
        if logged is None:
            continue
        series = logged.finite()
        series = series.select(series.values > 0.0)
        if len(series):
            slowness = series.values if name == "step_time" else 1.0 / series.values
            return Speed(replace(series, values=slowness))
    return Missing("neither the time of steps nor their speed was logged", LOG_THIS)
