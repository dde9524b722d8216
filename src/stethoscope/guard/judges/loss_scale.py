"""The loss scale: judged by its direction, never by its level.

A fall is an overflow. The detector of the post-mortem says whether overflows come faster than growth repairs,
and whether a smaller scale makes them rarer; it is asked only where the scale has come down some octaves. The
opening search of a scaler for its level, a sawtooth and a high scale are all healthy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.detectors.scaler import (
    LEAST_FALL,
    LEAST_SKIPS,
    SEARCH_STEPS,
    Decline,
    ScalerPath,
    decline,
    drift,
    path,
)
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy

MOST_CHANGES = 256  # of the scale that are remembered: a third of a million steps of a healthy scaler
LOOK_EVERY = 128  # steps between two questions to the detector, which takes milliseconds
SMALLEST = 2.0**-1000

Change = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale's changes as (clock, scale from there on), and what has been told.

    `highest` is the largest scale among the changes. `told` is the scale at which a fall was last told of;
    `floored` says that the scale lies at its floor and that this was told.
    """

    changes: tuple[Change, ...] = ()
    highest: float = 0.0
    next_look: int = 0
    told: float | None = None
    floored: bool = False


def begin() -> Scale:
    """Nothing known of a scale."""
    return Scale()


def update(
    state: Scale, clock: int, seen: Observation, policy: Policy
) -> tuple[Scale, tuple[Happening, ...]]:
    """Judge the scale of one step."""
    scale = seen.values.get("loss_scale")
    if scale is None or scale - scale != 0.0 or scale < 0.0:
        return state, ()
    last = state.changes[-1][1] if state.changes else None
    if scale == last:
        return state, ()
    state = _learned(state, clock, scale)
    if last is None or scale > last:
        return _risen(state, scale, policy), ()
    if scale <= policy.scale_floor and not state.floored:
        return replace(state, floored=True, told=scale), (_at_floor(state, clock, seen, scale, policy),)
    if not _may_fall(state, clock, scale):
        return state, ()
    whole = expanded(state.changes, clock)
    fall = decline(whole)
    state = replace(state, next_look=clock + LOOK_EVERY)
    if fall is None:
        return state, ()
    return replace(state, told=scale), (_falling(fall, whole, clock, seen, policy),)


def expanded(changes: tuple[Change, ...], clock: int) -> ScalerPath:
    """The path through all changes up to a clock, as the detector would read it from a log of every step."""
    steps: list[int] = []
    scales: list[float] = []
    first = changes[0][0]
    ends = [*(at for at, _ in changes[1:]), clock + 1]
    for (at, scale), end in zip(changes, ends, strict=True):
        # Two steps more behind each change show the detector that every step was seen, and the one behind
        # the opening search lets it begin there.
        wanted = {at, at + 1, at + 2, first + SEARCH_STEPS + 1, end - 1}
        inside = sorted(step for step in wanted if at <= step < end)
        steps += inside
        scales += [max(scale, SMALLEST)] * len(inside)
    return path(np.array(steps, dtype=np.int64), np.array(scales, dtype=np.float64))


def _learned(state: Scale, clock: int, scale: float) -> Scale:
    changes = (*state.changes, (clock, scale))
    highest = max(state.highest, scale)
    if len(changes) > MOST_CHANGES:
        changes = changes[MOST_CHANGES // 4 :]
        highest = max(scale for _, scale in changes)
    return replace(state, changes=changes, highest=highest)


def _risen(state: Scale, scale: float, policy: Policy) -> Scale:
    """A scale that grows well again may be told of again when it falls."""
    told = None if state.told is not None and scale >= 4.0 * state.told else state.told
    return replace(state, told=told, floored=state.floored and scale <= 4.0 * policy.scale_floor)


def _may_fall(state: Scale, clock: int, scale: float) -> bool:
    """Whether it is worth asking the detector: far enough down, and further than what was told."""
    if clock < state.next_look or (state.told is not None and scale > state.told / 2.0**LEAST_FALL):
        return False
    deep = scale * 2.0**LEAST_FALL <= state.highest and len(state.changes) > LEAST_SKIPS
    return deep or scale < 1.0


def _falling(fall: Decline, whole: ScalerPath, clock: int, seen: Observation, policy: Policy) -> Happening:
    left = _steps_to_floor(fall, whole.growth_interval, policy.scale_floor)
    span = fall.last_step - fall.first_step
    said = (
        f"The loss scale fell from {_level(fall.from_octave)} to {_level(fall.to_octave)} and still falls at "
        f"step {seen.step:,}: {fall.skips} overflows in {span:,} steps, where growth makes up for one in "
        f"{round(1.0 / fall.critical_rate):,}."
    )
    if left is not None:
        said += f" At this pace it reaches {policy.scale_floor:g} in about {left:,} steps."
    means, try_first = _meaning(fall)
    return Happening(
        Kind.SCALE_FALLING,
        seen.step,
        Severity.WARNING,
        said,
        f"This is overflow, not underflow: values too large for half precision. {means}",
        try_first,
        _facts(fall, left),
        onset=seen.step - (clock - fall.first_step),
    )


def _steps_to_floor(fall: Decline, growth_interval: int, floor: float) -> int | None:
    falling = -drift(fall.rate, growth_interval)
    octaves = fall.to_octave - math.log2(floor) if floor > 0.0 else 0.0
    return round(octaves / falling) if falling > 0.0 and octaves > 0.0 else None


def _meaning(fall: Decline) -> tuple[str, str]:
    """What the hazard says, and what to try first; careful where it says nothing."""
    if fall.hazard is None or fall.skips < LEAST_SKIPS:
        return (
            "Too few overflows were seen to tell the forward pass from the backward pass.",
            "look at the largest activations and gradients of a step that overflows.",
        )
    if fall.hazard.rises_with_scale:
        return (
            "A smaller scale makes overflows rarer, so they happen in the backward pass: gradients grow.",
            "lower the learning rate or lengthen the warm-up, and look at which layer's gradient grows.",
        )
    return (
        "A smaller scale does not make overflows rarer, so they most likely happen in the forward pass or "
        "come with the data; no scale is small enough for that.",
        "run in bfloat16, or put the layer with the largest activations into float32; check inputs for NaN.",
    )


def _facts(fall: Decline, left: int | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "from_scale": 2.0**fall.from_octave,
        "to_scale": 2.0**fall.to_octave,
        "skips": fall.skips,
        "skip_rate": fall.rate,
        "critical_rate": fall.critical_rate,
        "supercritical": fall.supercritical,
        "steps_to_floor": left,
    }
    if fall.hazard is not None:
        facts["hazard_slope"] = fall.hazard.slope
        facts["hazard_p"] = fall.hazard.p
        facts["overflow_in"] = "backward" if fall.hazard.rises_with_scale else "forward"
    return facts


def _at_floor(state: Scale, clock: int, seen: Observation, scale: float, policy: Policy) -> Happening:
    top = max(range(len(state.changes)), key=lambda at: (state.changes[at][1], at))
    began, highest = state.changes[top]
    falls = len(state.changes) - 1 - top
    dead = scale == 0.0
    means = "Gradients overflow although they are hardly scaled up: values are too large for half precision."
    if dead:
        means = "A scale of zero can never grow again: no step will be taken from here on."
    return Happening(
        Kind.SCALE_AT_FLOOR,
        seen.step,
        Severity.CRITICAL if dead else Severity.WARNING,
        f"The loss scale fell to {scale:g} at step {seen.step:,}, from {highest:g} within {clock - began:,} "
        f"steps; its floor is {policy.scale_floor:g}.",
        means,
        "run in bfloat16, or find the layer or the batch whose values overflow and compute it in float32.",
        {"scale": scale, "floor": policy.scale_floor, "from_scale": highest, "falls": falls},
        Answer.STOP if dead else Answer.REWIND,
        onset=seen.step - (clock - began),
    )


def _level(octave: int) -> str:
    return f"{2.0**octave:,.0f}" if 0 <= octave < 40 else f"2^{octave}"
