"""The metrics measured on held-out data, with the direction in which each is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Run, Series
from stethoscope.run.names import HIGHER, LOWER, better
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "val/loss": evaluate(model, held_out)})'
EVALUATE_MORE = "evaluate more often: a decline needs about 12 evaluations to stand out from noise"

AROUND = 3  # evaluations whose median is a level
IMPROVES = 0.01  # relative; a smaller gain is none
NOISES = 2.0  # deviations of such a median


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric: its finite values, and whether "higher" or "lower" is better (None where unknown)."""

    series: Series
    better: str | None

    @property
    def sign(self) -> float:
        """What to multiply values by so that higher is better."""
        return -1.0 if self.better == LOWER else 1.0

    def improves_since(self, step: int) -> bool:
        """Whether the last evaluations are better than those around a step, by more than noise."""
        values = self.sign * self.series.values
        at = int(np.searchsorted(self.series.steps, step))
        then, last = values[max(0, at - 1) : at + 2], values[at + 2 :][-AROUND:]
        if len(then) == 0 or len(last) == 0:
            return False
        before = float(np.median(then))
        noise = NOISES * noise_sd(values) / float(np.sqrt(len(last)))
        return float(np.median(last)) - before > max(IMPROVES * abs(before), noise)


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """The validation metrics by canonical name, without the values that are not finite."""

    metrics: Mapping[str, Metric]

    @property
    def judged(self) -> dict[str, Metric]:
        """The metrics whose good direction is known."""
        return {name: metric for name, metric in self.metrics.items() if metric.better}

    def still_improves(self, since: int) -> str:
        """A score that is better at the end than around a step, by more than its noise; empty for none."""
        scores = [(name, metric) for name, metric in self.judged.items() if metric.better == HIGHER]
        return next((name for name, metric in scores if metric.improves_since(since)), "")


def measure(run: Run) -> Validation | Missing:
    """Collect the metrics."""
    series = {name: one.finite() for name, one in run.series.items() if name.startswith("val/")}
    metrics = {name: Metric(one, better(name)) for name, one in series.items() if len(one)}
    if not metrics:
        return Missing("no validation metric was logged", LOG_THIS)
    return Validation(metrics)
