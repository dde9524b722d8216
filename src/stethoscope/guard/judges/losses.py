"""The loss: one value against its level at each step, and the whole curve after each block of steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stethoscope.detectors import near_level, spike
from stethoscope.detectors.aftermath import NEXT
from stethoscope.detectors.robust_stats import HUGE
from stethoscope.detectors.spike import SpikeState
from stethoscope.guard.happening import Happening, Kind
from stethoscope.guard.judges import divergence, level_shift, loss_spikes, trace
from stethoscope.guard.judges.around import Around
from stethoscope.guard.judges.loss_spikes import OpenSpike
from stethoscope.guard.judges.trace import BLOCK, Point, Trace
from stethoscope.guard.observation import Observation

SAME = 1024  # steps for which a rise that was told of is not told of again under another name ...
GROWN = 1.5  # ... unless it goes on to so many times its height


@dataclass(frozen=True, slots=True)
class Looks:
    """When to look at the whole curve next; when a lasting rise was last told of, and to what level."""

    next: int = 0
    risen: int | None = None
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Losses:
    """The running level, a spike that is being watched, the block being gathered, and the curve."""

    level: SpikeState
    spike: OpenSpike | None = None
    block: tuple[Point, ...] = ()
    trace: Trace = field(default_factory=Trace)
    looks: Looks = field(default_factory=Looks)


def begin() -> Losses:
    """Nothing learned."""
    return Losses(spike.init())


def update(
    state: Losses, clock: int, seen: Observation, around: Around
) -> tuple[Losses, tuple[Happening, ...]]:
    """Judge one loss, and learn it. What is not finite is neither judged nor learned here."""
    value = seen.values.get("loss")
    if value is None or value - value != 0.0:
        return state, ()
    value = min(max(value, -HUGE), HUGE)
    if value < 0.0 and state.level.logarithmic:
        state = _linear(state)
    before, watched, looks = state.level, state.spike, state.looks
    told: tuple[Happening, ...] = ()
    level, high = _learned(before, value)
    if watched is not None:
        watched, told = loss_spikes.watched(watched, clock, seen, value, state.trace, around)
        if watched is None:
            looks = Looks(looks.next)
        elif loss_spikes.is_told(watched) and level.level > watched.watch.bar and not high:
            watched = None  # the level has followed: this is where the loss lives
    elif (high or _may_leave(state, value)) and not _is_known(state.trace, looks, clock, value):
        lately = trace.lately(state.trace, state.block, near_level.WINDOW)
        if (by := _judged_by(before, high, value, lately)) is not None:
            watched, told = loss_spikes.opened(by, clock, seen, value, lately[-NEXT:], state.trace)
    looks = _risen(looks, clock, told)
    block = (*state.block, (clock, value))
    if len(block) < BLOCK:
        return Losses(level, watched, block, state.trace, looks), told
    curve = trace.add(state.trace, block, seen.values)
    looks, seen_in_curve = _looked(curve, looks, clock, seen, around)
    return Losses(level, watched, (), curve, looks), (*told, *seen_in_curve)


def after_rewind(state: Losses, clock: int) -> Losses:
    """Forget everything from a clock on: the weights are those of before."""
    curve = trace.until(state.trace, clock)
    _, values = trace.series(curve)
    level = spike.init(state.level.logarithmic)
    for value in values[-4 * spike.WARM_UP :].tolist():
        level, _ = _learned(level, value)
    block = tuple(point for point in state.block if point[0] < clock)
    return Losses(level, None, block, curve, Looks(state.looks.next))


def _may_leave(state: Losses, value: float) -> bool:
    """A cheap look first: a value visibly above the running level, and above the last ones."""
    return near_level.may_rise(state.level, value) and all(value > one for _, one in state.block[-NEXT:])


def _judged_by(before: SpikeState, high: bool, value: float, lately: tuple[Point, ...]) -> SpikeState | None:
    """The level by which a value is a spike: that of the last steps where it is the finer one; or None."""
    near = near_level.left([one for _, one in lately], value, before.logarithmic)
    if near is None:
        return before if high else None
    finer = spike.standard_deviation(near) < spike.standard_deviation(before)
    return near if finer or not high else before


def _learned(level: SpikeState, value: float) -> tuple[SpikeState, bool]:
    # A loss of exactly zero (an empty batch) has no logarithm to learn.
    return (level, False) if value == 0.0 and level.logarithmic else spike.update(level, value)


def _linear(state: Losses) -> Losses:
    """The same, learned without the logarithm, from what is kept of the curve: the loss can be negative."""
    _, values = trace.series(state.trace)
    level = spike.init(logarithmic=False)
    for value in (*values[-4 * spike.WARM_UP :].tolist(), *(value for _, value in state.block)):
        level, _ = spike.update(level, value)
    return replace(state, level=level, spike=None)


def _risen(looks: Looks, clock: int, told: tuple[Happening, ...]) -> Looks:
    for one in told:
        after = one.facts.get("after")
        if one.kind in (Kind.LASTING_SPIKE, Kind.LEVEL_SHIFT) and isinstance(after, float):
            return Looks(looks.next, clock, after)
    return looks


def _looked(
    curve: Trace, looks: Looks, clock: int, seen: Observation, around: Around
) -> tuple[Looks, tuple[Happening, ...]]:
    """Look at the whole curve, where that is due; one lasting rise is told of once."""
    level = curve.medians[-1]
    found: Happening | None = None
    if _is_known(curve, looks, clock, level):
        return looks, ()
    if looks.risen is None or clock - looks.risen > SAME:
        found = level_shift.look(curve, clock, seen, around)
    if found is None and clock >= looks.next and divergence.may_diverge(curve):
        looks = replace(looks, next=clock + divergence.LOOK_EVERY)
        found = divergence.look(curve, clock, seen, around)
    return (looks, ()) if found is None else (Looks(looks.next, clock, level), (found,))


def _is_known(curve: Trace, looks: Looks, clock: int, level: float) -> bool:
    """Whether a level is where it was when a rise was told of, and that was not long ago."""
    if looks.risen is None or clock - looks.risen > SAME or curve.best is None:
        return False
    return level - curve.best <= GROWN * (looks.height - curve.best)
