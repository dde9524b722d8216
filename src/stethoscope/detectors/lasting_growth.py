"""Whether a size grows by a large factor and has not come to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import Series

PARTS = 8  # stretches whose medians are levels
SETTLED = 2  # stretches at the start: every size moves while the first features form
STILL = 1.05  # times the level before: the last stretch goes on growing


@dataclass(frozen=True, slots=True)
class Growth:
    """From which level to which, and the step at which twice the first level was passed."""

    first: float
    last: float
    onset: int

    @property
    def times(self) -> float:
        """By what factor."""
        return self.last / self.first if self.first > 0.0 else float("inf")


def lasting_growth(series: Series, times: float) -> Growth | None:
    """The growth of finite values by at least `times` since they settled; None where they rest, or fall."""
    values = np.abs(series.values)
    if len(values) < 2 * PARTS:
        return None
    levels = [float(np.median(part)) for part in np.array_split(values, PARTS)]
    first, last = levels[SETTLED - 1], levels[-1]
    rising = sum(b >= a for a, b in zip(levels[SETTLED - 1 :], levels[SETTLED:], strict=False))
    if first <= 0.0 or last < times * first or last < STILL * levels[-2] or rising < PARTS - SETTLED - 1:
        return None
    above = np.nonzero(values > 2.0 * first)[0]
    return Growth(first, last, int(series.steps[int(above[0])]) if len(above) else int(series.steps[-1]))
