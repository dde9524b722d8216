"""The learning rate of each parameter group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing

WARMING = 0.98  # at the end of a log that stops in its warm-up the rate stands this close to its highest


@dataclass(frozen=True, slots=True, eq=False)
class LearningRate:
    """The learning rates as logged, by series name; `main` is the one that stands for all."""

    groups: Mapping[str, Series]

    @property
    def main(self) -> Series:
        """The rate logged as `lr`, or that of the first group."""
        return self.groups.get("lr") or next(iter(self.groups.values()))

    @property
    def still_warming_up(self) -> bool:
        """Whether the log ends while the rate is on its first way up."""
        values = self.main.finite().values
        if len(values) < 3 or values.max() <= 0.0:
            return False
        rising = bool(np.all(np.diff(values) >= -1e-12 * values.max()))
        # A constant rate is at its highest from the first line on and is not warming up.
        at_top = int(np.count_nonzero(values >= WARMING * values.max()))
        return rising and bool(values[0] < 0.9 * values[-1]) and at_top < 0.5 * len(values)


def measure(run: Run) -> LearningRate | Missing:
    """Collect the rates of all groups."""
    names = [name for name in run.series if name == "lr" or name.startswith("lr/")]
    groups = {name: run.series[name] for name in names if len(run.series[name].finite())}
    if not groups:
        return Missing("the learning rate was not logged", 'log({"lr": optimizer.param_groups[0]["lr"]})')
    return LearningRate(groups)
