"""The closest decay of each family: linear, cosine, exponential, polynomial, inverse root, 1 - sqrt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Values

LONGEST = 64.0  # times the stretch that was seen: a curve that goes on for longer looks straight
SHORTEST = 0.75
LENGTHS = 96  # tried at once, evenly in the logarithm, and then again around the best
ROUNDS = 4
SURE = 9.0  # times the squared noise by which a worse fit is surely worse
WIDEST = 0.1  # relative width of the lengths that fit as well: wider is not known
POWERS = (0.5, 0.9, 2.0, 3.0)
BELOW = 0.01  # of the first rate: a floor so far beyond what was logged is the fit's own error


@dataclass(frozen=True, slots=True)
class Fit:
    """A family's closest curve: its deviation, what BIC makes of it, and what it says about the schedule."""

    family: str
    error: float
    bic: float
    length: float | None = None
    floor: float | None = None
    factor: float | None = None


def fits(x: Values, y: Values, unit: float, begin: float) -> Iterator[Fit]:
    """The fit of every family to a curve that falls from `begin` on, just before the first point or at it.

    `unit` is how far the values may lie from the true ones.
    """
    t = np.maximum(x - begin, 0.0)
    yield from _straight(t, y, unit)
    yield from _exponential(t, y, unit)
    yield from _inverse_root(t, y, unit)
    yield from _stretched("cosine", lambda s: 0.5 * (1.0 + np.cos(np.pi * s)), t, y, unit, 3)
    yield from _root(t, y, unit)
    for power in POWERS:
        yield from _stretched("polynomial", _power(power), t, y, unit, 4)


def _power(power: float) -> Callable[[Values], Values]:
    return lambda s: np.asarray((1.0 - s) ** power, dtype=np.float64)


def _straight(t: Values, y: Values, unit: float) -> Iterator[Fit]:
    slope, start = np.polyfit(t, y, 1).tolist()
    if slope >= 0.0:
        return
    # A line does not say where it would have ended; most end at zero.
    yield _fit("linear", start + slope * t, y, unit, 2, length=float(-start / slope), floor=0.0)


def _exponential(t: Values, y: Values, unit: float) -> Iterator[Fit]:
    if float(y.min()) <= 0.0:
        return
    # A printed rate is the less certain in its logarithm the smaller it is.
    slope, start = np.polyfit(t, np.log(y), 1, w=y / y.max()).tolist()
    if slope < 0.0:
        yield _fit("exponential", np.exp(start + slope * t), y, unit, 2, floor=0.0, factor=math.exp(slope))


def _inverse_root(t: Values, y: Values, unit: float) -> Iterator[Fit]:
    if float(y.min()) <= 0.0:
        return
    slope, start = np.polyfit(t, y**-2.0, 1, w=(y / y.max()) ** 3).tolist()
    if slope > 0.0 and start > 0.0:
        yield _fit("inverse square root", (start + slope * t) ** -0.5, y, unit, 2)


def _root(t: Values, y: Values, unit: float) -> Iterator[Fit]:
    """1 - sqrt: the square of what was lost is a line, which also tells where it began."""
    top = float(y[0])
    slope, start = np.polyfit(t, (top - y) ** 2, 1, w=1.0 / (top - y + unit)).tolist()
    if slope > 0.0:
        fitted = top - np.sqrt(np.maximum(start + slope * t, 0.0))
        yield _fit("1 - sqrt", fitted, y, unit, 3, length=(top * top - start) / slope, floor=0.0)


def _stretched(
    family: str, form: Callable[[Values], Values], t: Values, y: Values, unit: float, parameters: int
) -> Iterator[Fit]:
    """A form on 0..1 that is stretched to a length, and falls from a first rate to a floor."""
    # The last point may be the first one at the floor, behind the end.
    low, high = SHORTEST * float(t[-1]), LONGEST * float(t[-1])
    as_well: Values = np.empty(0)
    for round_ in range(ROUNDS):
        tried = np.exp(np.linspace(math.log(low), math.log(high), LENGTHS))
        losses, tops, floors = _losses(form, tried, t, y)
        best = int(np.argmin(losses))
        if round_ == 0:
            as_well = tried[losses <= losses[best] + SURE * unit * unit]
        low, high = float(tried[max(0, best - 1)]), float(tried[min(LENGTHS - 1, best + 1)])
    length, top, floor = float(tried[best]), float(tops[best]), float(floors[best])
    if not -BELOW * top <= floor <= float(y[-1]) + BELOW * top:
        return
    is_known = len(as_well) == 0 or float(np.ptp(as_well)) <= WIDEST * length
    shape = form(np.minimum(t / length, 1.0))
    fitted = top * shape + floor * (1.0 - shape)
    yield _fit(
        family, fitted, y, unit, parameters, length=length if is_known else None, floor=max(floor, 0.0)
    )


def _losses(
    form: Callable[[Values], Values], lengths: Values, t: Values, y: Values
) -> tuple[Values, Values, Values]:
    """For each length the squared distance, the first rate and the floor of the closest curve."""
    shape = form(np.minimum(t / lengths[:, np.newaxis], 1.0))
    rest = 1.0 - shape
    aa, bb, ab = (shape * shape).sum(axis=1), (rest * rest).sum(axis=1), (shape * rest).sum(axis=1)
    ay, by = shape @ y, rest @ y
    det = np.maximum(aa * bb - ab * ab, 1e-300)
    tops, floors = (bb * ay - ab * by) / det, (aa * by - ab * ay) / det
    off = y - tops[:, np.newaxis] * shape - floors[:, np.newaxis] * rest
    return (off * off).sum(axis=1), tops, floors


def _fit(
    family: str,
    fitted: Values,
    y: Values,
    unit: float,
    parameters: int,
    length: float | None = None,
    floor: float | None = None,
    factor: float | None = None,
) -> Fit:
    error = float(np.sqrt(np.mean((y - fitted) ** 2)))
    bic = len(y) * 2.0 * math.log(max(error, unit)) + parameters * math.log(len(y))
    return Fit(family, error, bic, length, floor, factor)
