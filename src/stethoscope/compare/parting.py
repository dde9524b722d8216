"""Where a signal of one run leaves that of another, by more than noise and more than a seed would do.

Two runs that differ in nothing but their seeds are never equal: their values scatter, what one value is off
by the next is off by as well, and whole curves lie a little higher, or come a little earlier. So differences
are judged in units of the scatter that they have themselves, enlarged by its memory, and only what exceeds
the tolerated distance counts. Of one good run that distance is estimated: what its curve does within
a third more or fewer steps, how it wanders, and a floor. Several good runs measure it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from stethoscope.compare.pairing import Paired
from stethoscope.compare.sequential import exceeded
from stethoscope.detectors.distributions import t_quantile
from stethoscope.detectors.robust_stats import MAD_TO_SD, autocorrelation, tame, variance_inflation
from stethoscope.run import Values
from stethoscope.run.names import better

FEWEST_POINTS = 8  # fewer say nothing about their own noise
FEWEST_AROUND = 7  # points whose median a point is held against: of fewer, too many are the median itself
FEWEST_FOR_NOISE = 32  # points whose scatter is taken for that of the next
SLOWER_OR_FASTER = 0.3  # by which share of the steps two seeds may be ahead of each other
WANDERING = 2.5  # so many standard deviations of the slow part of a curve are its seed's
OF_A_SEED = 0.04  # the least distance tolerated: of the level, or of the span where the scale is linear
PRIOR_RUNS = 2.0  # good runs that the estimate from one curve counts for, beside measured ones
OF_HEALTHY = 0.9975  # of healthy runs, on each side, whose course lies within what several good ones show
ROUNDING = 2e-3  # relative: what printing leaves of a learning rate
DOUBLINGS = 3.0  # by which two loss scales may differ: they grow until they overflow

FEW_POINTS = 32  # of so few, a run may be ahead by one: they are that far from each other

# What the settings decide, whatever is learned; equal in every run with the same settings.
SET = ("lr", "weight/", "difficulty")
# What the machine decides.
OF_THE_MACHINE = ("step_time", "data_time", "throughput", "runtime", "mem", "mfu", "epoch")


class How(StrEnum):
    """By what two runs part."""

    NOISE = "beyond noise"
    NOT_FINITE = "not finite"
    SET_OTHERWISE = "set otherwise"


@dataclass(frozen=True, slots=True)
class Part:
    """The place at which a signal parts: where that begins, and where it was sure.

    `higher` says that the bad run lies above; the values are those at `sure`.
    """

    how: How
    step: int
    sure: int
    higher: bool | None
    good: float
    bad: float


def parting(pair: Paired, alpha: float, follows_the_run: bool = False) -> Part | None:
    """Where the bad run's signal leaves the good runs' one; None where it does not, or cannot be told.

    `follows_the_run` says that a schedule answers to what is measured, so that seeds differ in it.
    """
    broken = _first_not_finite(pair)
    before = pair.cut(broken) if broken is not None else pair
    finite = np.isfinite(before.good).all(axis=0) & np.isfinite(before.bad)
    before = before.kept(finite)
    if pair.name.startswith(SET):
        found = None if follows_the_run else _set_otherwise(before)
    else:
        found = _beyond_noise(before, alpha)
    if found is None and broken is not None:
        step = int(pair.steps[broken])
        return Part(How.NOT_FINITE, step, step, None, float(pair.middle[broken]), float(pair.bad[broken]))
    return found


def equal_until(pair: Paired) -> int | None:
    """The last step up to which the bad run tells what a good one tells, digit for digit.

    None where it does not at the first step, or where the values never change.
    """
    best = None
    for row in pair.good:
        same = (row == pair.bad) | (np.isnan(row) & np.isnan(pair.bad))
        count = len(same) if same.all() else int(np.argmin(same))
        if count > 0 and len(np.unique(row[:count])) > 1:
            best = max(best or 0, int(pair.steps[count - 1]))
    return best


def _first_not_finite(pair: Paired) -> int | None:
    """The first position at which the bad run is not finite and the good ones are."""
    only = ~np.isfinite(pair.bad) & np.isfinite(pair.good).all(axis=0)
    return int(np.argmax(only)) if only.any() else None


def _set_otherwise(pair: Paired) -> Part | None:
    """The first step at which a scheduled value is another one; a lone point may be one of a step's edges."""
    if len(pair) == 0:
        return None
    near = np.abs(np.diff(pair.middle, prepend=pair.middle[0])) if pair.stretched else 0.0
    slack = ROUNDING * np.maximum(np.abs(pair.middle), np.abs(pair.bad)) + near
    apart = np.abs(pair.bad - pair.middle) > slack
    lasting = apart & np.append(apart[1:], True) if len(apart) > 1 else apart
    if not lasting.any():
        return None
    at = int(np.argmax(lasting))
    return _part(How.SET_OTHERWISE, pair, at, min(at + 1, len(pair) - 1))


def _beyond_noise(pair: Paired, alpha: float) -> Part | None:
    if len(pair) < FEWEST_POINTS:
        return None
    good, bad = _on_one_scale(pair)
    middle = good.mean(axis=0)
    difference = bad - middle
    if not difference.any():
        return None
    tolerated = _tolerated(pair, good, middle)
    noise = _noise(difference)
    with np.errstate(over="ignore"):
        found = exceeded(tame(difference / noise), tame(tolerated / noise), alpha)
    return _part(How.NOISE, pair, found.onset, found.sure) if found else None


def _part(how: How, pair: Paired, onset: int, sure: int) -> Part:
    good, bad = float(pair.middle[sure]), float(pair.bad[sure])
    return Part(how, int(pair.steps[onset]), int(pair.steps[sure]), bad > good, good, bad)


# --- the scale on which differences of one kind have one size --------------------------------------------


def _on_one_scale(pair: Paired) -> tuple[Values, Values]:
    """The values as they are, or their logarithms where noise grows with the level."""
    good, bad = tame(pair.good), tame(pair.bad)
    if _in_ratios(pair):
        return np.log(good), np.log(bad)
    return good, bad


def _in_ratios(pair: Paired) -> bool:
    """Whether a signal is compared by ratios: what is positive, and no score that has a ceiling."""
    positive = bool((pair.good > 0).all() and (pair.bad > 0).all())
    return positive and better(pair.name) != "higher"


# --- what is tolerated -----------------------------------------------------------------------------------


def _tolerated(pair: Paired, good: Values, middle: Values) -> Values:
    """How far a healthy run's slow course may lie from the good ones', at each point."""
    alone: Values = np.mean([_of_one_curve(pair, row) for row in good], axis=0)
    if pair.name == "loss_scale":
        return np.full(len(middle), DOUBLINGS * np.log(2.0))
    count = len(good)
    if count == 1:
        return alone
    rest = good - (good.sum(axis=0) - good) / (count - 1)
    slow = np.stack([_smoothed(row, _width(len(row))) for row in rest])
    # In terms of the difference between two runs, as the estimate from one curve is.
    measured = 2.0 * (slow * slow).sum(axis=0) * (count - 1) / count
    prior = (alone / WANDERING) ** 2
    degrees = PRIOR_RUNS + count - 1
    wide = _widest_around(np.sqrt((PRIOR_RUNS * prior + measured) / degrees), _width(len(middle)))
    # A few runs tell little of how far others may lie, and their mean lies nearer than each of them.
    return np.asarray(t_quantile(OF_HEALTHY, degrees) * wide * np.sqrt((1.0 + 1.0 / count) / 2.0))


def _of_one_curve(pair: Paired, row: Values) -> Values:
    """What seeds would make of one curve: earlier or later, wandering, and a little higher or lower."""
    width = _width(len(row))
    smooth = _smoothed(row, width)
    earlier, later = (
        _warped(pair, smooth, 1.0 - SLOWER_OR_FASTER),
        _warped(pair, smooth, 1.0 + SLOWER_OR_FASTER),
    )
    warped = np.maximum(np.abs(earlier - smooth), np.abs(later - smooth))
    if len(row) < FEW_POINTS:
        apart = np.abs(np.diff(row, prepend=row[0], append=row[-1]))
        warped = np.maximum(warped, np.maximum(apart[:-1], apart[1:]))
    wander = np.sqrt(_smoothed((smooth - _smoothed(row, 3 * width)) ** 2, 3 * width))
    span = 1.0 if _in_ratios(pair) else float(np.percentile(row, 95) - np.percentile(row, 5))
    return np.asarray(_widest_around(warped, width) + WANDERING * wander + OF_A_SEED * span)


def _warped(pair: Paired, smooth: Values, factor: float) -> Values:
    steps = pair.steps.astype(np.float64)
    passed = steps - min(steps[0], 0.0)
    return np.asarray(np.interp(passed * factor, passed, smooth), dtype=np.float64)


def _width(count: int) -> int:
    """The points over which a course is smoothed."""
    return max(3, count // 12)


def _smoothed(values: Values, width: int) -> Values:
    """The mean around each point; at the ends of what there is."""
    half = max(1, width // 2)
    total = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return np.asarray((total[high] - total[low]) / (high - low))


def _widest_around(values: Values, width: int) -> Values:
    half = max(1, width // 2)
    padded = np.pad(values, half, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).max(axis=1))


# --- noise -----------------------------------------------------------------------------------------------


def _noise(difference: Values) -> Values:
    """The scatter of what is no course, at each point, as large as its memory makes it in a sum.

    The scatter at a point is that of the points before it, so that what comes after a parting does not hide
    it; of the first points it is that of all of them. A sum of values that remember each other scatters by
    the root of the inflation more than one of independent values, and never by more than that.
    """
    scatter = difference - _running_median(difference, max(FEWEST_AROUND, _width(len(difference))))
    size = MAD_TO_SD * float(np.median(np.abs(scatter)))
    scatter = np.clip(scatter, -4.0 * size, 4.0 * size) if size > 0 else scatter
    memory = autocorrelation(scatter)
    memory = min(memory + memory * float(np.sqrt((1.0 - memory**2) / len(scatter))), 0.99)
    inflation = min(variance_inflation(memory), len(scatter) / 2.0)
    least = 1e-9 * max(float(np.abs(difference).max()), 1e-300)
    return np.asarray(np.maximum(_spread_before(scatter), least) * np.sqrt(inflation))


def _spread_before(scatter: Values) -> Values:
    """The scatter of the window before each point, brought up to date four times a window."""
    window = min(max(FEWEST_FOR_NOISE, len(scatter) // 8), len(scatter))
    often = max(1, window // 4)
    ends = np.maximum(np.arange(len(scatter)) // often * often, window)
    known = {end: _spread(scatter[max(0, end - window) : end]) for end in sorted(set(ends.tolist()))}
    return np.array([known[end] for end in ends.tolist()])


def _running_median(values: Values, width: int) -> Values:
    half = max(1, width // 2)
    padded = np.pad(values, half, mode="reflect")  # there are at least FEWEST_POINTS
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1))


def _spread(values: Values) -> float:
    """The standard deviation, rather too high: of few values it is not known well."""
    middle = MAD_TO_SD * float(np.median(np.abs(values)))
    capped = np.minimum(values * values, (4.0 * middle) ** 2) if middle > 0 else values * values
    size = max(middle, float(np.sqrt(capped.mean())))
    return size * (1.0 + 2.0 / float(np.sqrt(len(values))))
