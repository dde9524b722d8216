"""Everything the run logged, signal by signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class EverySeries:
    """All series with at least one value, by canonical name."""

    series: Mapping[str, Series]


def measure(run: Run) -> EverySeries | Missing:
    """Collect the series that hold anything."""
    series = {name: one for name, one in run.series.items() if len(one)}
    if not series:
        return Missing("no curves were logged", 'log({"step": step, "loss": loss.item()})')
    return EverySeries(series)
