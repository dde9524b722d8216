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
WARM_UP = 64  # points of plain averaging before anything is judged
THRESHOLD = 8.0  # deviations; with 20 % above the level this gave no false alarm in a million healthy points
WIDE_THRESHOLD = 5.5  # where the noise spans more than 10 % in the logarithm, 8 would be blind
WIDE_NOISE = 0.1
LEAST_RISE = 0.2  # a spike stands at least this share above the level
PULL = 3.0  # deviations to which one value's influence on the level is cut
MEAN_TO_SD = 1.2533  # a normal sample's standard deviation is so many mean absolute deviations
LEAST_DEVIATION = 1e-3


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
    y = _coordinate(value, state.logarithmic)
    if math.isnan(y):
        return state, not math.isnan(value) and value > 0.0 and state.seen >= state.warm_up
    if state.seen < state.warm_up:
        return _warm(state, y), False
    sd = _sd(state.deviation, state.level, state.logarithmic)
    excess = y - state.level
    spike = excess > _bar(sd, state.level, state.logarithmic)
    pulled = min(max(excess, -PULL * sd), PULL * sd)
    rate = 1.0 / HORIZON
    return replace(
        state,
        seen=state.seen + 1,
        level=state.level + rate * pulled,
        deviation=state.deviation + rate * (abs(pulled) - state.deviation),
    ), spike


def scan(values: Values, logarithmic: bool = True, warm_up: int = WARM_UP) -> SpikeScan:
    """Judge a whole series as `update` would, value by value, in one tight loop."""
    count = len(values)
    spikes = np.zeros(count, dtype=np.bool_)
    levels, sds = np.full(count, math.nan), np.full(count, math.nan)
    state = init(logarithmic, warm_up)
    head = 0
    while head < count and state.seen < warm_up:
        state, _ = update(state, float(values[head]))
        head += 1
    level, deviation = state.level, state.deviation
    rate = 1.0 / HORIZON
    coordinates = [_coordinate(value, logarithmic) for value in values[head:].tolist()]
    for at, y in enumerate(coordinates, start=head):
        sd = _sd(deviation, level, logarithmic)
        levels[at], sds[at] = level, sd
        if y != y:
            continue
        excess = y - level
        spikes[at] = excess > _bar(sd, level, logarithmic)
        pulled = min(max(excess, -PULL * sd), PULL * sd)
        level += rate * pulled
        deviation += rate * (abs(pulled) - deviation)
    spikes[head:] |= np.isposinf(values[head:])
    distance = np.full(count, math.nan)
    distance[head:] = (np.array(coordinates) - levels[head:]) / sds[head:]
    return SpikeScan(spikes, levels, sds, distance, logarithmic)


def _warm(state: SpikeState, y: float) -> SpikeState:
    """Plain averages while there is too little to judge by."""
    seen = state.seen + 1
    level = state.level + (y - state.level) / seen
    deviation = state.deviation + (abs(y - level) - state.deviation) / seen
    return replace(state, seen=seen, level=level, deviation=deviation)


def _coordinate(value: float, logarithmic: bool) -> float:
    """Where a value stands on the scale of judgement; NaN for what cannot be learned."""
    if not math.isfinite(value):
        return math.nan
    return math.log(max(abs(value), 1e-300)) if logarithmic else value


def _sd(deviation: float, level: float, logarithmic: bool) -> float:
    floor = LEAST_DEVIATION if logarithmic else LEAST_DEVIATION * abs(level)
    return max(MEAN_TO_SD * deviation, floor, 1e-300)


def _bar(sd: float, level: float, logarithmic: bool) -> float:
    """How far above the level a value must stand to be a spike."""
    relative = sd if logarithmic else sd / max(abs(level), 1e-300)
    threshold = THRESHOLD if relative < WIDE_NOISE else WIDE_THRESHOLD
    rise = math.log1p(LEAST_RISE) if logarithmic else LEAST_RISE * abs(level)
    return max(threshold * sd, rise)
