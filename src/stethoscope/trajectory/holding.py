"""Hold a run to a trajectory: what stays in its band, what leaves it, what could not be examined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from stethoscope.detectors.distributions import normal_tail, t_tail
from stethoscope.run import Run, Series, Values
from stethoscope.run.names import canonical
from stethoscope.trajectory.false_alarms import adjusted
from stethoscope.trajectory.levels import Level, levels
from stethoscope.trajectory.shares import in_unit_of
from stethoscope.trajectory.signs import Seen, look_for
from stethoscope.trajectory.trajectory import Condition, Held, Scale, Side, Trajectory, WarningSign

SURE = 3.0  # standard errors that a level lies beyond a plain limit
MOSTLY = 0.5  # the share of values in a stretch below which what is finite says nothing
STRETCHES = 4.0  # of a run that are far enough apart to stray by themselves; levels in between stray together
SEVERAL = 3  # values in a row outside an exact band
SIGNS = {Side.HIGH: (1.0,), Side.LOW: (-1.0,), Side.BOTH: (1.0, -1.0)}
LOG_THIS = 'log({{"step": step, "{name}": value}})'


class Outcome(StrEnum):
    """What became of a signal."""

    HELD = "held"
    LEFT = "left"
    NOT_REACHED = "not reached"
    NOT_EXAMINED = "not examined"


@dataclass(frozen=True, slots=True)
class Departure:
    """How a signal left its band: from which step to which, and where it was furthest off.

    `seen` and `expected` (the nearest side, where nothing is expected) are values at `worst`; `chance` is how
    likely so much is in a healthy run, every signal and step counted; 0 where a plain limit was left.
    """

    first: int
    last: int
    worst: int
    seen: float
    expected: float
    limit: float
    above: bool
    chance: float
    to_the_end: bool


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSignal:
    """A signal of the file in the run. `chance` is that of the furthest sustained departure, by itself.

    `sign` is 1 where that departure is upwards and -1 downwards; `better` says that the level left the band
    on the side that does not count.
    """

    held: Held
    outcome: Outcome
    series: Series | None = None
    levels: tuple[Level, ...] = ()
    departure: Departure | None = None
    chance: float = 1.0
    why: str = ""
    log_this: str = ""
    better: bool = False
    sign: float = 1.0

    def is_outside(self, level: Level) -> bool:
        """Whether a level lies outside the band by itself, which healthy levels do now and then."""
        return _chance(self.held, level, self.sign) < (1.0 - self.held.confidence) / 2.0

    @property
    def reached(self) -> int:
        """How many of the named steps the run has come to."""
        last = int(self.series.steps[-1]) if self.series is not None and len(self.series) else -1
        return sum(row.step <= last for row in self.held.rows)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSign:
    """A warning sign in the run; `examined` is false where its signal was never logged."""

    sign: WarningSign
    seen: Seen | None = None
    series: Series | None = None
    examined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """A run held to a trajectory."""

    trajectory: Trajectory
    run: Run
    signals: tuple[JudgedSignal, ...] = ()
    signs: tuple[JudgedSign, ...] = ()

    @property
    def left(self) -> tuple[JudgedSignal, ...]:
        """The signals that left their bands."""
        return tuple(one for one in self.signals if one.outcome is Outcome.LEFT)

    @property
    def warned(self) -> tuple[JudgedSign, ...]:
        """The warning signs that showed."""
        return tuple(one for one in self.signs if one.seen is not None)

    @property
    def departed(self) -> bool:
        """Whether the run is not what the file expects."""
        return bool(self.left or self.warned)

    @property
    def missing(self) -> tuple[str, ...]:
        """The signals that could not be examined."""
        bands = [one.held.name for one in self.signals if one.outcome is Outcome.NOT_EXAMINED]
        return tuple(dict.fromkeys([*bands, *(one.sign.signal for one in self.signs if not one.examined)]))

    @property
    def examined(self) -> bool:
        """Whether anything was compared at all."""
        bands = any(one.outcome in {Outcome.HELD, Outcome.LEFT} for one in self.signals)
        return bands or any(one.examined for one in self.signs)


def hold(run: Run, trajectory: Trajectory, over: bool = True) -> Judgement:
    """Hold a run to a trajectory. While it is not `over`, only stretches that are complete are judged."""
    judged = [_judged(run, held, over) for held in trajectory.signals]
    measured = [at for at, one in enumerate(judged) if one.outcome is Outcome.HELD and not one.held.exact]
    chances = adjusted([judged[at].chance for at in measured])
    for at, chance in zip(measured, chances, strict=True):
        judged[at] = _decided(judged[at], chance, trajectory.false_alarms)
    signs = tuple(_warned(run, sign) for sign in trajectory.signs)
    return Judgement(trajectory, run, tuple(judged), signs)


def find(run: Run, name: str) -> Series | None:
    """The series of a name, as it is written or as it is understood."""
    return run.series.get(name) or run.series.get(canonical(name))


def _judged(run: Run, held: Held, over: bool) -> JudgedSignal:
    series = find(run, held.name)
    if series is None or not len(series):
        log_this = held.log_this or LOG_THIS.format(name=held.name)
        return JudgedSignal(held, Outcome.NOT_EXAMINED, why=f"{held.name} was not logged", log_this=log_this)
    if series.axis != held.unit:
        why = f"the file counts by {held.unit}, and the log has {held.name} by {series.axis}"
        return JudgedSignal(held, Outcome.NOT_EXAMINED, series, why=why)
    series = in_unit_of(held, series)
    within = series.between(held.first, _reach(held, series))
    if not len(within):
        why = f"the run ends at step {int(series.steps[-1]):,}, before step {held.first:,}"
        if int(series.steps[-1]) > held.last:
            why = f"nothing was logged between step {held.first:,} and step {held.last:,}"
        return JudgedSignal(held, Outcome.NOT_REACHED, series, why=why)
    return _exact(held, series, within) if held.exact else _measured(held, series, within, over)


def _reach(held: Held, series: Series) -> int:
    """The last step that is compared: a single named step speaks for the first value logged after it."""
    if len(held.rows) > 1:
        return held.last
    after = series.steps[series.steps >= held.last]
    return int(after[0]) if len(after) else held.last


# --- what is measured


def _measured(held: Held, series: Series, within: Series, over: bool) -> JudgedSignal:
    spread_out = _spread_out(held, _reach(held, series))
    sides = {}
    for sign in (1.0, -1.0):
        kept, chances = _side(spread_out, within, sign, over)
        if kept:
            sides[sign] = _sustained(chances), kept
    if not sides:
        return JudgedSignal(held, Outcome.NOT_REACHED, series, why="no named stretch of steps is complete")
    counted = {sign: side for sign, side in sides.items() if sign in SIGNS[held.worse]}
    if not counted:
        return JudgedSignal(held, Outcome.NOT_EXAMINED, series, why=f"its bands have no {held.worse} side")
    sign = min(counted, key=lambda one: counted[one][0])
    chance, kept = counted[sign]
    better = any(sides[other][0] < 1.0 - held.confidence for other in sides.keys() - counted.keys())
    # Where both sides count, each had its chance.
    chance = min(1.0, chance * len(counted))
    return JudgedSignal(held, Outcome.HELD, series, kept, chance=chance, better=better, sign=sign)


def _spread_out(held: Held, reach: int) -> Held:
    """The signal with its only row spoken for the first value after it, too."""
    if len(held.rows) > 1 or reach <= held.last:
        return held
    return replace(held, rows=(held.rows[0], replace(held.rows[0], step=reach)))


def _side(held: Held, within: Series, sign: float, over: bool) -> tuple[tuple[Level, ...], list[float]]:
    """The levels against one side of the band, and the chance of each in a healthy run."""
    expected = held.at(within.steps, "expected")
    side = held.at(within.steps, "high" if sign > 0 else "low")
    if np.isnan(side).all():
        return (), []
    line = np.where(np.isnan(expected), side, expected)
    kept = tuple(one for one in levels(within, held, line) if one.complete or over)
    return kept, [_chance(held, one, sign) for one in kept]


def _chance(held: Held, level: Level, sign: float) -> float:
    """How likely a healthy run's level lies so far on this side."""
    if level.finite < MOSTLY:
        return 0.0  # what is not a number lies in no band
    at = np.array([min(max((level.first + level.last) / 2.0, held.first), held.last)])
    expected = float(held.at(at, "expected")[0])
    side = float(held.at(at, "high" if sign > 0 else "low")[0])
    if math.isnan(level.distance):
        return 1.0
    if math.isnan(expected):
        return 0.0 if sign * level.distance > SURE * level.error else 1.0
    width = abs(side - expected) / held.reach
    spread = math.hypot(width, level.error)
    if spread <= 0.0:
        return 0.0 if sign * level.distance > 0.0 else 1.0
    away = sign * level.distance / spread
    return normal_tail(away) if held.freedom is None else t_tail(away, held.freedom)


def _sustained(chances: Sequence[float]) -> float:
    """The chance of the furthest departure that two levels in a row share, wherever it is."""
    if len(chances) < 2:
        return 1.0
    pairs = [max(pair) for pair in pairwise(chances)]
    return min(1.0, min(pairs) * STRETCHES)


def _decided(one: JudgedSignal, chance: float, rate: float) -> JudgedSignal:
    if chance > rate:
        return one
    assert one.series is not None
    return replace(one, outcome=Outcome.LEFT, departure=_departure(one, chance), better=False)


def _departure(one: JudgedSignal, chance: float) -> Departure:
    """The stretch around the level that is furthest off, as far as its neighbours lie outside the band."""
    held, sign = one.held, one.sign
    chances = [_chance(held, level, sign) for level in one.levels]
    pairs = [max(pair) for pair in pairwise(chances)]
    at = int(np.argmin(pairs))
    outside = 1.0 - held.confidence
    first, last = at, at + 1
    while first > 0 and chances[first - 1] <= outside:
        first -= 1
    while last < len(chances) - 1 and chances[last + 1] <= outside:
        last += 1
    worst = one.levels[first + int(np.argmin(chances[first : last + 1]))]
    where = (worst.first + worst.last) // 2
    middle = np.array([min(max(float(where), held.first), held.last)])
    expected = float(_unscaled(held, held.at(middle, "expected"))[0])
    limit = float(_unscaled(held, held.at(middle, "high" if sign > 0 else "low"))[0])
    return Departure(
        one.levels[first].first,
        one.levels[last].last,
        where,
        worst.value,
        limit if math.isnan(expected) else expected,
        limit,
        sign > 0,
        chance,
        last == len(chances) - 1,
    )


def _unscaled(held: Held, values: Values) -> Values:
    return np.exp(values) if held.scale is Scale.LOG else values


# --- what is computed


def _exact(held: Held, series: Series, within: Series) -> JudgedSignal:
    """A computed signal: every value lies in its band, give or take one logging interval in time."""
    low, high = _around(held, within, "low", np.fmin), _around(held, within, "high", np.fmax)
    values = within.values
    above, below = values > high, values < low
    outside = ~np.isfinite(values)
    if held.worse is not Side.LOW:
        outside |= above
    if held.worse is not Side.HIGH:
        outside |= below
    stretch = _longest(outside)
    if stretch is None or stretch[1] - stretch[0] + 1 < min(SEVERAL, len(within)):
        return JudgedSignal(held, Outcome.HELD, series)
    first, last = stretch
    off = np.maximum(np.nan_to_num(values - high, nan=0.0), np.nan_to_num(low - values, nan=0.0))[
        first : last + 1
    ]
    at = first + int(np.argmax(off))
    is_above = bool(above[at])
    limit = float(high[at] if is_above else low[at])
    expected = float(held.at(within.steps[at : at + 1], "expected")[0])
    departure = Departure(
        int(within.steps[first]),
        int(within.steps[last]),
        int(within.steps[at]),
        float(values[at]),
        limit if math.isnan(expected) else expected,
        limit,
        is_above,
        0.0,
        last == len(within) - 1,
    )
    return JudgedSignal(held, Outcome.LEFT, series, departure=departure, chance=0.0)


def _around(held: Held, within: Series, part: str, widest: np.ufunc) -> Values:
    """One side of the band at each step, the wider of its neighbours one logging interval away.

    What a schedule does at a step is logged before or after that step, as the program has it.
    """
    slack = max(within.cadence(), 1)
    near = [held.at(np.clip(within.steps + by, held.first, held.last), part) for by in (-slack, 0, slack)]
    return np.asarray(widest(widest(near[0], near[1]), near[2]))


def _longest(met: np.ndarray) -> tuple[int, int] | None:
    """The first and last position of the longest uninterrupted stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8))).reshape(-1, 2)
    if not len(edges):
        return None
    first, end = edges[int(np.argmax(edges[:, 1] - edges[:, 0]))]
    return int(first), int(end) - 1


# --- warning signs


def _warned(run: Run, sign: WarningSign) -> JudgedSign:
    series = find(run, sign.signal)
    if series is None or not len(series):
        return JudgedSign(sign, examined=False)
    if sign.when is not Condition.FALLING and int(series.steps[-1]) < sign.first:
        return JudgedSign(sign, None, series)
    return JudgedSign(sign, look_for(sign, run, series), series)


def not_examined(judgement: Judgement) -> Iterator[tuple[str, str, str]]:
    """Each signal that could not be examined: its name, why, and the line of code that would log it."""
    told = set()
    for one in judgement.signals:
        if one.outcome is Outcome.NOT_EXAMINED:
            told.add(one.held.name)
            yield one.held.name, one.why, one.log_this
    for sign in judgement.signs:
        if not sign.examined and sign.sign.signal not in told:
            told.add(sign.sign.signal)
            name = sign.sign.signal
            yield name, f"{name} was not logged", LOG_THIS.format(name=name)
