"""Does one value stand far above what the series has been doing?

The level is an exponential average that a spike cannot drag along (its pull is cut at three deviations),
in the logarithm where the values are positive. Nothing that is not finite is ever learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stethoscope.run import Values

HORIZON = 100  # points that the level remembers
RATE = 1.0 / HORIZON
WARM_UP = 64  # points of plain averaging before anything is judged
THRESHOLD = 8.0  # deviations; with 20 % above the level this gave no false alarm in a million healthy points
WIDE_THRESHOLD = 5.5  # where the noise spans more than 10 % in the logarithm, 8 would be blind
WIDE_NOISE = 0.1
LEAST_RISE = 0.2  # a spike stands at least this share above the level
PULL = 3.0  # deviations to which one value's influence on the level is cut
MEAN_TO_SD = 1.2533  # a normal sample's standard deviation is so many mean absolute deviations
LEAST_DEVIATION = 1e-3
LEAST_SD = 1e-300  # what divides must not be zero
STRETCH = 1 << 16  # points that are held as Python numbers at once


@dataclass(frozen=True, slots=True)
class SpikeState:
    """What has been learned: the level and the mean absolute deviation, in the logarithm or not."""

    logarithmic: bool
    warm_up: int = WARM_UP
    seen: int = 0
    level: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, slots=True)
class SpikeScan:
    """The verdict on every value, the level each was compared with, and its distance in deviations.

    `level` and `sd` are in the logarithm where the scan was; `distance` is NaN where nothing was judged.
    """

    spikes: npt.NDArray[np.bool_]
    level: Values
    sd: Values
    distance: Values
    logarithmic: bool


def init(logarithmic: bool = True, warm_up: int = WARM_UP) -> SpikeState:
    """Begin with nothing learned; `logarithmic` for series of positive values."""
    return SpikeState(logarithmic, warm_up)


def update(state: SpikeState, value: float) -> tuple[SpikeState, bool]:
    """Judge one value, then learn from it."""
    logarithmic, seen, level, deviation = state.logarithmic, state.seen, state.level, state.deviation
    if not math.isfinite(value):
        return state, value > 0.0 and seen >= state.warm_up
    y = math.log(max(abs(value), 1e-300)) if logarithmic else value
    if seen < state.warm_up:
        return _warm(state, y), False
    sd = _sd(deviation, level, logarithmic)
    excess, most = y - level, PULL * sd
    # No bar is lower than the pull is long, so that mostly there is no need to ask where it is.
    spike = excess > most and excess > _bar(sd, level, logarithmic)
    pulled = most if excess > most else -most if excess < -most else excess
    level += RATE * pulled
    deviation += RATE * (abs(pulled) - deviation)
    # Live, this is called at every step of a training, and `replace` would take half as long again.
    return SpikeState(logarithmic, state.warm_up, seen + 1, level, deviation), spike


def standard_deviation(state: SpikeState) -> float:
    """The noise around the level that has been learned, in the logarithm where the state is."""
    return _sd(state.deviation, state.level, state.logarithmic)


def is_wide(state: SpikeState) -> bool:
    """Whether the noise that has been learned spans so much of the level that a lower bar is needed."""
    sd = standard_deviation(state)
    return not (sd if state.logarithmic else sd / max(abs(state.level), 1e-300)) < WIDE_NOISE


@np.errstate(over="ignore", invalid="ignore")  # a distance may be infinite, as it may for `update`
def scan(values: Values, logarithmic: bool = True, warm_up: int = WARM_UP) -> SpikeScan:
    """Judge a whole series as `update` would, value by value."""
    count = len(values)
    state = init(logarithmic, warm_up)
    # Only numbers warm it up.
    first = np.flatnonzero(np.isfinite(values))[:warm_up]
    for value in values[first].tolist():
        state, _ = update(state, value)
    head = int(first[-1]) + 1 if 0 < warm_up == len(first) else count
    levels, sds, excess = (np.full(count, math.nan) for _ in range(3))
    for start in range(head, count, STRETCH):
        part = slice(start, min(start + STRETCH, count))
        coordinates = _coordinates(values[part], logarithmic)
        state, levels[part], sds[part] = _learned(state, coordinates.tolist())
        excess[part] = coordinates - levels[part]
    spikes = excess > _bars(sds, levels, logarithmic)
    spikes[head:] |= np.isposinf(values[head:])
    return SpikeScan(spikes, levels, sds, excess / sds, logarithmic)


def _learned(state: SpikeState, coordinates: list[float]) -> tuple[SpikeState, list[float], list[float]]:
    """`update` without its verdicts: the level and the deviation that each coordinate was judged by.

    What one value teaches depends on all before it, so this is a loop in Python, and the only one over all
    points of a series: it calls nothing.
    """
    levels, sds = [], []
    level, deviation, seen = state.level, state.deviation, state.seen
    logarithmic = state.logarithmic
    sd = 0.0
    for y in coordinates:
        sd = MEAN_TO_SD * deviation
        floor = LEAST_DEVIATION if logarithmic else LEAST_DEVIATION * abs(level)
        if sd < floor:
            sd = floor
        if sd < LEAST_SD:
            sd = LEAST_SD
        levels.append(level)
        sds.append(sd)
        pulled, most = y - level, PULL * sd
        if pulled > most:
            pulled = most
        elif pulled < -most:
            pulled = -most
        elif pulled != pulled:
            continue
        seen += 1
        level += RATE * pulled
        deviation += RATE * (abs(pulled) - deviation)
    return replace(state, seen=seen, level=level, deviation=deviation), levels, sds


def _warm(state: SpikeState, y: float) -> SpikeState:
    """Plain averages while there is too little to judge by."""
    seen = state.seen + 1
    level = state.level + (y - state.level) / seen
    deviation = state.deviation + (abs(y - level) - state.deviation) / seen
    return replace(state, seen=seen, level=level, deviation=deviation)


def _coordinates(values: Values, logarithmic: bool) -> Values:
    """Where values stand on the scale of judgement; NaN for what cannot be learned."""
    finite = np.where(np.isfinite(values), values, math.nan)
    return np.log(np.maximum(np.abs(finite), 1e-300)) if logarithmic else finite


def _sd(deviation: float, level: float, logarithmic: bool) -> float:
    floor = LEAST_DEVIATION if logarithmic else LEAST_DEVIATION * abs(level)
    return max(MEAN_TO_SD * deviation, floor, LEAST_SD)


def _bar(sd: float, level: float, logarithmic: bool) -> float:
    """How far above the level a value must stand to be a spike."""
    relative = sd if logarithmic else sd / max(abs(level), 1e-300)
    threshold = THRESHOLD if relative < WIDE_NOISE else WIDE_THRESHOLD
    rise = math.log1p(LEAST_RISE) if logarithmic else LEAST_RISE * abs(level)
    return max(threshold * sd, rise)


def _bars(sds: Values, levels: Values, logarithmic: bool) -> Values:
    """`_bar` of many."""
    relative = sds if logarithmic else sds / np.maximum(np.abs(levels), 1e-300)
    threshold = np.where(relative < WIDE_NOISE, THRESHOLD, WIDE_THRESHOLD)
    rise = math.log1p(LEAST_RISE) if logarithmic else LEAST_RISE * np.abs(levels)
    return np.maximum(threshold * sds, rise)
