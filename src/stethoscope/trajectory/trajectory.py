"""What a healthy run is expected to show, signal by signal and step by step.

Trajectory              what one run is held to
|-- Phase               a named stretch of steps: warm-up, curriculum
|-- Held                a signal and the band it is held to
|   `-- Row             the band at one step
|-- WarningSign         a plain rule: this signal, this condition, for so long
`-- Look                when to look, and how often
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

import numpy as np

from stethoscope.detectors.distributions import normal_quantile, t_quantile
from stethoscope.run import Steps, Values

SCHEMA = 1
CONFIDENCE = 0.99  # of a band at one step
FALSE_ALARMS = 0.01  # of healthy runs that may leave the file, all signals together
TINY = 1e-12  # values at or below zero have no logarithm; this stands for them


class Scale(StrEnum):
    """In what a distance from the expected value is measured: in differences, or in factors."""

    LINEAR = "linear"
    LOG = "log"


class Side(StrEnum):
    """Which side of a band is a departure; the other one is only told."""

    HIGH = "high"
    LOW = "low"
    BOTH = "both"


class Condition(StrEnum):
    """What a warning sign looks for."""

    NOT_FINITE = "not finite"
    ABOVE = "above"
    BELOW = "below"
    FALLING = "falling"


@dataclass(frozen=True, slots=True)
class Row:
    """The band at one step. A side that is None is open; without `expected` the sides are plain limits."""

    step: int
    low: float | None = None
    expected: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A signal and what it is held to.

    Between two rows the band runs straight over log(1 + step), or in steps where `exact`. An `exact` signal,
    such as a learning rate, is computed and not measured: its rows hold without any error of the run's own.
    `freedom` are the degrees of freedom of the band's width, None for a width that is known. `unit` is what
    the rows count: steps, or epochs where that is all that the log tells.
    """

    name: str
    rows: tuple[Row, ...]
    worse: Side = Side.BOTH
    scale: Scale = Scale.LINEAR
    confidence: float = CONFIDENCE
    freedom: float | None = None
    exact: bool = False
    unit: str = "step"
    source: str = ""
    log_this: str = ""

    @property
    def reach(self) -> float:
        """How many standard deviations lie between the expected value and the side of the band."""
        return _reach(self.confidence, self.freedom)

    def scaled(self, values: Values) -> Values:
        """Values in the units in which distances are measured."""
        if self.scale is Scale.LOG:
            return np.log(np.maximum(values, TINY))
        return values

    def at(self, steps: Steps | Values, part: str) -> Values:
        """`low`, `expected` or `high` at these steps, scaled; NaN where the rows do not say."""
        named = [(row.step, getattr(row, part)) for row in self.rows if getattr(row, part) is not None]
        if not named:
            return np.full(len(steps), np.nan)
        where, values = np.array(named, dtype=np.float64).T
        place: Callable[[Values], Values] = np.asarray if self.exact else np.log1p
        asked = np.asarray(steps, dtype=np.float64)
        found = np.interp(place(np.maximum(asked, 0.0)), place(where), self.scaled(values))
        found[(asked < where[0]) | (asked > where[-1])] = np.nan
        return found

    @property
    def first(self) -> int:
        """The first named step."""
        return self.rows[0].step

    @property
    def last(self) -> int:
        """The last named step."""
        return self.rows[-1].step


@cache
def _reach(confidence: float, freedom: float | None) -> float:
    middle = 0.5 + confidence / 2.0
    return normal_quantile(middle) if freedom is None else t_quantile(middle, freedom)


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a run, both ends included."""

    name: str
    first: int
    last: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class WarningSign:
    """A rule that needs no forecast. `lasts` are the steps for which it must hold without a gap."""

    signal: str
    when: Condition
    value: float | None = None
    lasts: int = 0
    why: str = ""
    first: int = 0

    def meets(self, values: Values) -> np.ndarray:
        """For each value, whether it meets the condition."""
        if self.when is Condition.NOT_FINITE:
            return ~np.isfinite(values)
        limit = math.nan if self.value is None else self.value
        return values > limit if self.when is Condition.ABOVE else values < limit


@dataclass(frozen=True, slots=True)
class Look:
    """When somebody should look: at these steps, and then every so many."""

    at: tuple[int, ...] = ()
    every: int | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Everything a run is held to. `unforecast` says what could not be forecast, and why.

    `lines` maps a signal to the line of the file on which it begins.
    """

    name: str = ""
    steps: int | None = None
    false_alarms: float = FALSE_ALARMS
    phases: tuple[Phase, ...] = ()
    signals: tuple[Held, ...] = ()
    signs: tuple[WarningSign, ...] = ()
    look: Look = Look()
    unforecast: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)
    file: str = field(default="", compare=False)
