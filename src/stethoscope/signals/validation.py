"""The metrics measured on held-out data, with the direction in which each is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.run.names import better
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "val/loss": evaluate(model, held_out)})'


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric: its finite values, and whether "higher" or "lower" is better (None where unknown)."""

    series: Series
    better: str | None

    @property
    def sign(self) -> float:
        """What to multiply values by so that higher is better."""
        return -1.0 if self.better == "lower" else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """The validation metrics by canonical name, without the values that are not finite."""

    metrics: Mapping[str, Metric]

    @property
    def judged(self) -> dict[str, Metric]:
        """The metrics whose good direction is known."""
        return {name: metric for name, metric in self.metrics.items() if metric.better}


def measure(run: Run) -> Validation | Missing:
    """Collect the metrics."""
    series = {name: one.finite() for name, one in run.series.items() if name.startswith("val/")}
    metrics = {name: Metric(one, better(name)) for name, one in series.items() if len(one)}
    if not metrics:
        return Missing("no validation metric was logged", LOG_THIS)
    return Validation(metrics)
