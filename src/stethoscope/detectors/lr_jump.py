"""Where a learning rate leaps up again after its warm-up, and whether a cycle explains it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import tame
from stethoscope.run import Steps, Values

JUMP = 1.3  # a smaller factor does no harm
LEAST_SHARE = 0.05  # of the highest rate; smaller leaps are the rounding of tiny rates
AT_FLOOR = 0.12  # warm restarts leap from the end of a decay, this share of the peak or less
REGULAR = 0.2  # relative spread of the distances between leaps that still counts as a cycle
SMALLEST = 1e-12  # no log prints more decimals than this
PRINTED = 1e-5  # rates are printed with five or six decimals where they are printed with few
CYCLE_GROWTH = (1.0, 1.5, 2.0)  # each cycle is so many times as long as the one before
MANY = 5  # so many leaps are a schedule (or two groups logged under one name), not an accident


@dataclass(frozen=True, slots=True)
class Jump:
    """A leap upwards between two logged points: the step after it, and the rates before and after."""

    step: int
    before: float
    after: float
    peak_before: float
    cyclic: bool

    @property
    def ratio(self) -> float:
        """By what factor the rate rose."""
        return self.after / self.before if self.before > 0.0 else float("inf")


def jumps(steps: Steps, rates: Values) -> list[Jump]:
    """All leaps after the first way up, of finite rates."""
    rates = tame(rates)
    if len(rates) < 3 or _is_rounded(rates):
        return []
    top = np.maximum.accumulate(rates)
    highest = float(top[-1])
    before, after = rates[:-1], rates[1:]
    leaps = (after > JUMP * before) & (after - before > LEAST_SHARE * highest)
    leaps &= np.arange(1, len(rates)) > _end_of_warm_up(rates)
    at = np.flatnonzero(leaps)
    cyclic = _is_cycle(int(steps[0]), steps[at + 1], before[at], top[at])
    return [
        Jump(int(steps[i + 1]), float(before[i]), float(after[i]), float(top[i]), cyclic) for i in at.tolist()
    ]


def _end_of_warm_up(rates: Values) -> int:
    """The index of the last point of the first way up; a constant start has none.

    A rate held for a third of the log has finished warming up, even if it later goes higher.
    """
    falls = np.flatnonzero(np.diff(rates) < 0.0)
    end = int(falls[0]) if len(falls) else len(rates) - 1
    held = np.flatnonzero(np.diff(rates[: end + 1]) == 0.0)
    long_hold = max(8, len(rates) // 3)
    if len(held) >= long_hold:
        runs = np.split(held, np.flatnonzero(np.diff(held) > 1) + 1)
        top = LEAST_SHARE * float(rates.max())
        first_long = next((run for run in runs if len(run) >= long_hold and rates[run[0]] > top), None)
        if first_long is not None:
            return int(first_long[0])
    return end


def _is_cycle(first: int, steps: Steps, before: Values, peaks: Values) -> bool:
    """Whether the leaps are the restarts of a cyclic schedule that began at step `first`."""
    if len(steps) == 0:
        return False
    if len(steps) >= MANY or bool(np.all(before <= AT_FLOOR * peaks)):
        return True
    if len(steps) < 2:
        return False
    gaps = np.diff(np.insert(steps, 0, first)).astype(np.float64)
    growth = gaps[1:] / np.maximum(gaps[:-1], 1.0)
    return any(bool(np.all(np.abs(growth / factor - 1.0) <= REGULAR)) for factor in CYCLE_GROWTH)


def _is_rounded(rates: Values) -> bool:
    """Whether the log printed so few decimals that the rates move in units of the last one."""
    positive = rates[rates > 0.0]
    if len(positive) == 0:
        return True
    unit = float(positive.min())
    if not SMALLEST < unit <= PRINTED:
        return False
    decimal = float(10.0 ** np.round(np.log10(unit)))
    multiples = np.unique(np.round(positive / unit, 6))
    whole = bool(np.all(multiples == np.round(multiples))) and float(multiples[-1]) <= 20.0
    neighbours = bool(np.any(np.diff(multiples) == 1.0)) or len(multiples) == 1
    return whole and neighbours and abs(unit - decimal) < 1e-6 * decimal
