"""An axis: what it spans, where a value lies on it, and the ticks a person would choose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures.chart import Limits, Numbers

FARTHEST, NEAREST = 1e300, 1e-300  # beyond the one differences overflow, below the other they vanish
LEAST_SPAN = 1e-12  # of the values' size: less is the rounding of floats, not a shape
FAR_OFF = 1e4  # axis lengths: farther away a line leaves the picture at the same slope
MARGIN = 0.04  # of the span: room between the data and the frame
WIDE = 8.0  # a logarithmic axis from here on is told by powers of ten
LEAST_TICKS = 2  # one number alone does not say how large a step is
MINOR_DECADES = 6  # up to here the 2 to 9 of every decade get a small tick
LONGEST_WHOLE = 1e6  # whole numbers below it are written out
WITHOUT_EXPONENT = (1e-4, 1e4)  # numbers in between are written out

_STEPS = (1.0, 2.0, 5.0, 10.0)
# Within a decade: the factors that are named, as many as there is room for.
_NAMED: tuple[tuple[int, ...], ...] = ((2, 5), (3,), ())
_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what is written there; nothing for a small tick."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values; `log` says that equal factors, not equal differences, are equally long."""

    low: float
    high: float
    log: bool = False

    def share(self, values: Numbers) -> Numbers:
        """How far along the axis each value lies, 0 at its low end and 1 at its high end; NaN for none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.log:
                low, high = math.log10(self.low), math.log10(self.high)
                shares = (np.log10(np.where(values > 0, values, np.nan)) - low) / (high - low)
            else:
                shares = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return np.where(np.isfinite(shares), np.clip(shares, -FAR_OFF, FAR_OFF), np.nan)

    def at(self, value: float) -> float:
        """How far along the axis one value lies."""
        return float(self.share(np.array([value], dtype=np.float64))[0])


def fitted(
    values: Iterable[Numbers], log: bool = False, limits: Limits = (None, None), padded: bool = True
) -> Axis:
    """The axis that shows all these values that can be shown."""
    found = [part[_showable(part, log)] for part in values]
    known = [side for side in limits if side is not None and _showable(np.array([side]), log)[0]]
    together = np.concatenate([*found, np.array(known, dtype=np.float64)])
    if len(together) == 0:
        return Axis(1.0, 10.0, log) if log else Axis(0.0, 1.0)
    low, high = float(together.min()), float(together.max())
    low, high = _log_margins(low, high, padded) if log else _margins(low, high, padded)
    low = limits[0] if limits[0] in known and limits[0] is not None else low
    high = limits[1] if limits[1] in known and limits[1] is not None else high
    return Axis(low, high, log) if high > low else fitted(values, log, padded=padded)


def ticks(axis: Axis, most: int) -> list[Tick]:
    """At most about that many ticks at round values, small ticks between those of a logarithmic axis."""
    found = _decades(axis, most) if axis.log else []
    enough = LEAST_TICKS if axis.log and axis.high > WIDE * axis.low else LEAST_TICKS + 1
    return found if _named(found) >= enough else _round_values(axis, most)


def written(value: float) -> str:
    """A number as short as it can be read."""
    size = abs(value)
    if size < LONGEST_WHOLE and value == int(value):
        return str(int(value))
    if not math.isfinite(value) or value == 0 or WITHOUT_EXPONENT[0] <= size < WITHOUT_EXPONENT[1]:
        return f"{value:.4g}"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    if not exponent:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def _showable(values: Numbers, log: bool) -> NDArray[np.bool_]:
    usable = np.isfinite(values) & (np.abs(values) <= FARTHEST)
    return usable & (values >= NEAREST) if log else usable


def _margins(low: float, high: float, padded: bool) -> tuple[float, float]:
    if high - low <= max(LEAST_SPAN * max(abs(low), abs(high)), NEAREST):
        around = abs(low) * 0.1 if abs(low) > NEAREST else 1.0
        return low - around, high + around
    room = (high - low) * MARGIN if padded else 0.0
    # What begins at zero stands on the frame: a count, a share, an area.
    return (0.0 if low == 0 else low - room), (0.0 if high == 0 and low < 0 else high + room)


def _log_margins(low: float, high: float, padded: bool) -> tuple[float, float]:
    if high <= low * (1 + LEAST_SPAN):
        return low / 2, high * 2
    begin, end = math.log10(low), math.log10(high)
    room = (end - begin) * MARGIN if padded else 0.0
    # A margin of hundreds of decades would leave what floats can hold.
    return max(10.0 ** max(begin - room, -304), low / 1e3), min(10.0 ** min(end + room, 304), high * 1e3)


def _round_values(axis: Axis, most: int) -> list[Tick]:
    step = _step((axis.high - axis.low) / max(most, 1))
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    values = [index * step for index in range(first, last + 1) if index > 0 or not axis.log]
    if len(values) < LEAST_TICKS:
        return _round_values(axis, most + 1)
    texts = _texts(values, step)
    return [Tick(value, text) for value, text in zip(values, texts, strict=True)]


def _step(wanted: float) -> float:
    """The smallest round step that is not smaller."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(factor * power for factor in (*_STEPS, 20.0) if factor * power >= wanted * (1 - 1e-9))


def _texts(values: list[float], step: float) -> list[str]:
    """The ticks' numbers, all with the same unit and as many digits as their step has."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest >= 1e15 or 0 < largest < 1e-3:
        return [written(value) for value in values]
    unit, suffix = 1.0, ""
    if largest >= WITHOUT_EXPONENT[1]:
        unit, suffix = next((size, letter) for size, letter in _SUFFIXES if largest >= size)
    digits = _decimals(step / unit)
    return [f"{value / unit:.{digits}f}{suffix}" if value else "0" for value in values]


def _decimals(step: float) -> int:
    """How many digits behind the point a step of this size needs."""
    for digits in range(16):
        if abs(round(step, digits) - step) <= 1e-6 * step:
            return digits
    return 15


def _decades(axis: Axis, most: int) -> list[Tick]:
    first = math.ceil(math.log10(axis.low) - 1e-9)
    last = math.floor(math.log10(axis.high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / max(most, 1)))
    round_powers = [power for power in range(first, last + 1) if power % stride == 0]
    powers = round_powers if len(round_powers) >= LEAST_TICKS else sorted({first, last})
    marked = [Tick(10.0**power, _power(power)) for power in powers if first <= power <= last]
    if stride > 1 or last - first > MINOR_DECADES:
        return marked
    for factors in _NAMED:
        found = sorted([*marked, *_between(axis, first, last, factors)], key=lambda tick: tick.value)
        if _named(found) <= most:
            break
    return found


def _between(axis: Axis, first: int, last: int, named: tuple[int, ...]) -> Iterator[Tick]:
    """The 2 to 9 of every decade; only those factors are named."""
    for power in range(first - 1, last + 1):
        for factor in range(2, 10):
            value = factor * 10.0**power
            if axis.low <= value <= axis.high:
                yield Tick(value, written(value) if factor in named else "")


def _named(found: list[Tick]) -> int:
    return sum(bool(tick.text) for tick in found)


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -3 <= power <= 3 else f"1e{power}"
