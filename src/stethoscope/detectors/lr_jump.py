"""Where a learning rate leaps up again after its warm-up, and whether a cycle explains it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.robust_stats import tame
from stethoscope.run import Steps, Values

JUMP = 1.3  # a smaller factor does no harm
LEAST_SHARE = 0.05  # of the highest rate; smaller leaps are the rounding of tiny rates
HELD_SHARE = 0.005  # of the highest rate: one that is held long and is lower is no rate to learn at
LEARNS_AT = 1e-4  # except where it is one that networks are trained at from random weights
AT_FLOOR = 0.12  # warm restarts leap from the end of a decay, this share of the peak or less
REGULAR = 0.2  # relative spread of the distances between leaps that still counts as a cycle
SMALLEST = 1e-12  # no log prints more decimals than this
PRINTED = 1e-5  # rates are printed with five or six decimals where they are printed with few
MOST_UNITS = 20.0  # of the last decimal; rates that reach further show enough digits
CYCLE_GROWTH = (1.0, 1.5, 2.0)  # each cycle is so many times as long as the one before
FAR_ABOVE_PEAK = 1.5  # times the highest rate before
LEAST_RESTART = 0.3  # of the peak; damped restarts halve it
FEW_AFTER = 4  # points after a leap from which a decay cannot be read
SWINGS = 4  # so many ways up, with ways down between them, are a schedule, however few points show each
FEWEST_HELD, NEARLY_HALF = 5, 0.4  # points of a short log, and the share of it, that a rate is held
FEWEST_ROUNDED = 3  # cycles that may be seen a point late each
MANY = 5  # so many leaps are a schedule (or two groups logged under one name), not an accident

Row = npt.NDArray[np.int64]


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
    cyclic = _is_cycle(steps, rates, at)
    rows = (column[at].tolist() for column in (steps[1:], before, after, top))
    return [Jump(step, low, high, peak, cyclic) for step, low, high, peak in zip(*rows, strict=True)]


def _end_of_warm_up(rates: Values) -> int:
    """The index of the last point of the first way up; a constant start has none.

    A rate held for a third of the log has finished warming up, even if it later goes higher.
    """
    falls = np.flatnonzero(np.diff(rates) < 0.0)
    end = int(falls[0]) if len(falls) else len(rates) - 1
    held = np.flatnonzero(np.diff(rates[: end + 1]) == 0.0)
    long_hold = min(max(8, len(rates) // 3), max(FEWEST_HELD, round(NEARLY_HALF * len(rates))))
    if len(held) >= long_hold:
        runs = np.split(held, np.flatnonzero(np.diff(held) > 1) + 1)
        top = min(HELD_SHARE * float(rates.max()), LEARNS_AT)
        first_long = next((run for run in runs if len(run) >= long_hold and rates[run[0]] > top), None)
        if first_long is not None:
            return int(first_long[0])
    return end


def _swings(rates: Values) -> bool:
    """Whether the rate goes up and down again and again, each time to a good part of its peak."""
    ways = np.sign(np.diff(rates))
    ways = ways[ways != 0.0]
    tops = np.flatnonzero((ways[:-1] > 0.0) & (ways[1:] < 0.0))
    heights = rates[1:][np.diff(rates) != 0.0][tops]
    return int(np.count_nonzero(heights >= LEAST_RESTART * float(rates.max()))) >= SWINGS


def _is_cycle(steps: Steps, rates: Values, at: Row) -> bool:
    """Whether the leaps, each after the index in `at`, are the restarts of a cyclic schedule."""
    far_above = bool(np.any(rates[at + 1] > FAR_ABOVE_PEAK * np.maximum.accumulate(rates)[at]))
    if len(at) == 0 or (far_above and not _comes_back_to_its_peak(rates)):
        return False  # no schedule restarts far above its own peak
    if len(at) >= MANY or _swings(rates):
        return True
    from_floor = bool(np.all(rates[at] <= AT_FLOOR * np.maximum.accumulate(rates)[at]))
    if len(at) == 1:
        return from_floor and _decays(rates[: int(at[0]) + 1]) and _lands_on_the_peak(rates, int(at[0]))
    gaps = np.diff(np.insert(steps[at + 1], 0, steps[0])).astype(np.float64)
    return from_floor or any(_are_cycles(gaps, factor, steps) for factor in CYCLE_GROWTH)


def _are_cycles(gaps: Values, factor: float, steps: Steps) -> bool:
    """Whether each distance is so many times the one before.

    Where few points show a cycle, the leap is seen up to a point later than it was.
    """
    wanted = factor * np.maximum(gaps[:-1], 1.0)
    missed = np.abs(gaps[1:] - wanted)
    seen_late = float(np.median(np.diff(steps))) if len(gaps) >= FEWEST_ROUNDED else 0.0
    return bool(np.all(missed <= np.maximum(REGULAR * wanted, seen_late)))


def _comes_back_to_its_peak(rates: Values) -> bool:
    """Whether the rate nears its highest value again and again: its first cycle was seen in part."""
    ways = np.sign(np.diff(rates))
    tops = np.flatnonzero((np.append(ways, -1.0) < 0.0) & (np.insert(ways, 0, 1.0) > 0.0))
    return int(np.count_nonzero(FAR_ABOVE_PEAK * rates[tops] >= float(rates.max()))) >= SWINGS


def _decays(rates: Values) -> bool:
    """Whether the rate glides down to where it ends; a schedule of steps holds each level for long."""
    down = rates[int(np.argmax(rates)) :]
    return len(np.unique(down)) > len(down) // 2


def _lands_on_the_peak(rates: Values, at: int) -> bool:
    """Whether the rate comes back to a peak that a cycle may have, and glides down from it again."""
    peak, landed = float(rates[: at + 1].max()), rates[at + 1 :]
    return bool(landed.max() >= LEAST_RESTART * peak) and (len(landed) < FEW_AFTER or _decays(landed))


def _is_rounded(rates: Values) -> bool:
    """Whether the log printed so few decimals that the rates move in units of the last one."""
    positive = rates[rates > 0.0]
    if len(positive) == 0:
        return True
    unit, highest = float(positive.min()), float(positive.max())
    if not SMALLEST < unit <= PRINTED or round(highest / unit, 6) > MOST_UNITS:
        return False
    decimal = float(10.0 ** np.round(np.log10(unit)))
    if abs(unit - decimal) >= 1e-6 * decimal:
        return False
    multiples = np.unique(np.round(positive / unit, 6))
    neighbours = bool(np.any(np.diff(multiples) == 1.0)) or len(multiples) == 1
    return neighbours and bool(np.all(multiples == np.round(multiples)))
