"""Which schedule a learning rate follows: its family, its warm-up, its length, its floor, its milestones.

The curve is taken apart at its ends: a first way up is the warm-up, levels that are held are steps, a
last level that is held is the floor behind the end. What glides in between is fitted by every family, and
the Bayesian information criterion chooses; no fit counts as better than the digits in which the rate was
printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.gliding_fits import Fit, fits
from stethoscope.detectors.robust_stats import tame
from stethoscope.run import Steps, Values

LEAST_POINTS = 8
MOST_POINTS = 256
NOISE = 1e-6  # relative to the peak: rates are computed, not measured
MOST_DIGITS = 12
CLOSE = 0.005  # of the peak: a fit that is further off is no fit
HELD = 0.1  # of the points at the peak, before a decay: a stable stretch
FEW_LEVELS = 4  # points a level is held for, on average, in a schedule of steps
LEAST_STEP = 0.01  # of the level: smaller falls are the last printed digit of a curve
UNITS = 6.0  # and of the last digit
OVER = 0.2  # of the points at the floor: the schedule has ended
LEAST_GLIDE = 5  # points of a decay that a curve can be fitted to
UP_AGAIN = 0.05  # of the peak: a smaller rise is rounding
AT_FLOOR = 0.12  # of the peak: restarts leap from the end of a decay
IRREGULAR = 0.3  # relative spread of the factors by which cycles grow
BEFORE = (0.03, 0.06)  # of a decay, by which it may begin before it shows
TOLERANCE = 0.05  # relative difference of two lengths that are the same

CONSTANT, STEP, CYCLIC = "constant", "step", "cyclic"
ONE_CYCLE, STABLE_THEN = "one cycle", "stable, then "


@dataclass(frozen=True, slots=True)
class Shape:
    """A schedule. Lengths are in steps of the series.

    `warm_up` is 0 for none, and None where the log is too coarse to tell; `length` is that of the decay
    from the end of the warm-up to the floor, extrapolated where the log ends before, None where it cannot
    be told; `factor` is what a milestone (or, for an exponential, a step) multiplies the rate by;
    `period` is that of a cycle; `error` is the deviation of the fit from the rates, relative to the peak.
    """

    family: str
    peak: float
    warm_up: float | None = 0.0
    length: float | None = None
    floor: float | None = None
    factor: float | None = None
    milestones: tuple[int, ...] = ()
    period: float | None = None
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A length that is a whole number of times another one: the factor, and what it is the number of."""

    observed: float
    asked: float
    factor: float
    name: str

    @property
    def slower(self) -> bool:
        """Whether the schedule takes longer than asked."""
        return self.observed > self.asked


def shape(steps: Steps, rates: Values) -> Shape | None:
    """The schedule of finite rates in the order of their steps; None where no family fits."""
    if len(rates) < LEAST_POINTS or float(rates.max()) <= 0.0 or float(rates.min()) < 0.0:
        return None
    x, y = _thinned(steps.astype(np.float64), tame(rates))
    peak, unit = float(y.max()), _noise(y)
    if float(np.ptp(y)) <= 2.0 * unit:
        return Shape(CONSTANT, peak)
    tops = _tops(y)
    if len(tops) > 1:
        return _cycle(x, y, tops)
    top = int(np.argmax(y >= peak - unit))
    if top == len(y) - 1:
        return None  # the log ends in the warm-up
    before = float(x[max(0, top - 1)])
    found = _of_levels(x[top:], y[top:], unit) or _of_glide(x[top:], y[top:], unit, before)
    if found is None:
        return None
    warm_up, curved = _warm_up(x[: top + 1], y[: top + 1], unit)
    family = ONE_CYCLE if curved and found.family in {"cosine", "linear"} else found.family
    return replace(found, family=family, warm_up=warm_up)


def mismatch(
    observed: float, asked: float, factors: Mapping[str, float], tolerance: float
) -> Mismatch | None:
    """The number among `factors` by which a length differs from what was asked; None where none does."""
    if observed <= 0.0 or asked <= 0.0 or abs(observed / asked - 1.0) <= max(tolerance, TOLERANCE):
        return None
    ratio = max(observed / asked, asked / observed)
    for name, factor in factors.items():
        if factor >= 2.0 and abs(ratio / factor - 1.0) <= tolerance:
            return Mismatch(observed, asked, factor, name)
    return None


def _thinned(x: Values, y: Values) -> tuple[Values, Values]:
    """At most so many points, the first and the last among them."""
    if len(y) <= MOST_POINTS:
        return x, y
    at = np.unique(np.linspace(0, len(y) - 1, MOST_POINTS).round().astype(np.int64))
    return x[at], y[at]


def _noise(y: Values) -> float:
    """How far a printed rate may lie from the true one, at the peak."""
    peak = float(y.max())
    if len(np.unique(y)) < LEAST_POINTS:
        return NOISE * peak  # a few round numbers are no rounded ones
    positive = y[y > 0.0]
    exponent = np.floor(np.log10(positive))
    for digits in range(1, MOST_DIGITS):
        unit = 10.0 ** (exponent - digits + 1)
        if np.allclose(positive / unit, np.rint(positive / unit), rtol=0.0, atol=1e-4):
            return max(NOISE * peak, 0.5 * float(unit.max()))
    decimals = _decimals(y)
    return max(NOISE * peak, 0.5 * 10.0**-decimals if decimals else 0.0)


def _decimals(y: Values) -> int:
    """The decimals to which all rates were printed; 0 where they were not rounded."""
    for decimals in range(1, MOST_DIGITS):
        if np.allclose(y, np.round(y, decimals), rtol=0.0, atol=1e-3 * 10.0**-decimals):
            return decimals
    return 0


# ---- cycles, levels, glides --------------------------------------------------------------------------------


def _cycle(x: Values, y: Values, tops: npt.NDArray[np.int64]) -> Shape | None:
    """A rate that comes up again and again, at distances that stay or grow by a factor."""
    gaps = np.diff(x[tops])
    growth = gaps[1:] / gaps[:-1]
    if len(growth) and float(np.ptp(growth)) > IRREGULAR * float(np.median(growth)):
        return None
    lowest = float(y[tops[0] : tops[1]].min())
    if len(tops) == 2 and lowest > AT_FLOOR * float(y.max()):
        return None  # a single leap from half way down is an accident
    return Shape(CYCLIC, float(y.max()), floor=lowest, period=float(gaps[0]))


def _tops(y: Values) -> npt.NDArray[np.int64]:
    """The highest points between falls, rises smaller than rounding aside."""
    bar = UP_AGAIN * float(y.max())
    tops, rising, extreme = [], True, 0
    for at, value in enumerate(y.tolist()):
        ahead = value - float(y[extreme])
        if (ahead > 0.0) == rising:
            extreme = at
        elif abs(ahead) > bar:
            if rising:
                tops.append(extreme)
            rising, extreme = not rising, at
    if rising and tops:
        tops.append(extreme)
    return np.array(tops, dtype=np.int64)


def _of_levels(x: Values, y: Values, unit: float) -> Shape | None:
    """A schedule that holds its levels."""
    moves = np.flatnonzero(np.abs(np.diff(y)) > 2.0 * unit)
    falls = np.flatnonzero(y[:-1] - y[1:] > np.maximum(LEAST_STEP * y[:-1], UNITS * unit))
    if len(moves) > len(falls):
        return None
    levels = len(falls) + 1
    if levels == 1 or len(y) < FEW_LEVELS * levels or not _each_is_held(falls, len(y)):
        return None
    factors = y[falls + 1] / y[falls]
    return Shape(
        STEP,
        float(y[0]),
        length=float(x[falls[-1] + 1] - x[0]),
        floor=float(y[-1]),
        factor=float(np.median(factors)),
        milestones=tuple(int(step) for step in x[falls + 1]),
    )


def _each_is_held(falls: npt.NDArray[np.int64], count: int) -> bool:
    """Whether every level but the last has at least three points."""
    held = np.diff(np.concatenate(([-1], falls, [count - 1])))
    return bool(np.all(held[:-1] >= 3))


def _of_glide(x: Values, y: Values, unit: float, before: float) -> Shape | None:
    """A decay that glides, perhaps after a stable stretch, perhaps to a floor where it stays."""
    whole = _closest(x, y, unit, 0, before)
    held = int(np.argmax(y < y[0] - 2.0 * unit))
    if held > HELD * len(y) and (whole is None or whole.fit.error > 2.0 * unit):
        late = _closest(x, y, unit, held - 1, float(x[held - 1]))
        if late is not None and (whole is None or late.fit.error < 0.5 * whole.fit.error):
            return _shape_of(late, x, y, stable=True)
    return _shape_of(whole, x, y, stable=False) if whole is not None else None


@dataclass(frozen=True, slots=True)
class _Glide:
    """The closest curve, the step at which it begins, and the index at which it ends."""

    fit: Fit
    begin: float
    end: int


def _closest(x: Values, y: Values, unit: float, first: int, before: float) -> _Glide | None:
    """The closest curve from an index on; it begins there, or up to one point before or after."""
    end = _end_of_glide(y, unit)
    if end - first + 1 < LEAST_GLIDE:
        return None
    part = slice(first, end + 1)
    here, span = float(x[first]), float(x[end] - x[first])
    following = float(x[first + 1]) if first else here
    # The top of a cosine is so flat that its first points may be printed like the level before them.
    begins = {
        here,
        before,
        following,
        0.5 * (here + following),
        *(here - share * span for share in BEFORE if first),
    }
    found = [_Glide(fit, begin, end) for begin in begins for fit in fits(x[part], y[part], unit, begin)]
    best = min(found, key=lambda glide: glide.fit.bic, default=None)
    return best if best is not None and best.fit.error <= max(CLOSE * float(y[0]), 2.0 * unit) else None


def _shape_of(glide: _Glide, x: Values, y: Values, stable: bool) -> Shape:
    fit, end = glide.fit, glide.end
    over = len(y) - 1 - end >= OVER * len(y)
    reached = float(x[end] - x[0])
    length = None if fit.length is None else glide.begin - float(x[0]) + fit.length
    if over:
        length = reached if length is None else min(length, reached) if fit.family == "linear" else length
    return Shape(
        (STABLE_THEN if stable else "") + fit.family,
        float(y[0]),
        length=length,
        floor=float(y[-1]) if over else fit.floor,
        factor=fit.factor,
        error=fit.error / float(y[0]),
    )


def _end_of_glide(y: Values, unit: float) -> int:
    """The index of the first point of the level at which the rate stays to the end."""
    away = np.flatnonzero(np.abs(y - y[-1]) > 2.0 * unit)
    return min(len(y) - 1, int(away[-1]) + 1) if len(away) else 0


def _warm_up(x: Values, y: Values, unit: float) -> tuple[float | None, bool]:
    """The steps from the start of a straight warm-up to the peak, and whether it is bent like a cosine.

    Between the last rate below the peak and the first one at it, the end of the warm-up is where the line
    through the rates before reaches the peak.
    """
    below = np.flatnonzero(y < y[-1] - 2.0 * unit)
    if len(below) == 0:
        return 0.0, False
    rising = slice(0, int(below[-1]) + 1)
    if len(below) < 2:
        return None, False
    slope, start = np.polyfit(x[rising], y[rising], 1).tolist()
    if len(below) > LEAST_GLIDE and _is_bent(x, y):
        return float(x[-1]), True
    reached = (float(y[-1]) - start) / slope if slope > 0.0 else math.inf
    return float(min(max(reached, float(x[below[-1]])), float(x[-1]))), False


def _is_bent(x: Values, y: Values) -> bool:
    """Whether half a cosine describes a way up far better than a line."""
    phase = (x - x[0]) / max(float(x[-1] - x[0]), 1e-300)
    bent = y[0] + (y[-1] - y[0]) * 0.5 * (1.0 - np.cos(np.pi * phase))
    straight = y[0] + (y[-1] - y[0]) * phase
    return float(np.sum((y - bent) ** 2)) < 0.1 * float(np.sum((y - straight) ** 2))
