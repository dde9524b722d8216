"""A gradient far above the running level: noted, since by itself it is no harm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stethoscope.detectors import spike
from stethoscope.detectors.spike import SpikeState
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation

OUT_OF_LINE = 6.0  # deviations in the logarithm: no false alarm in a million steps of lognormal noise
ONE_IN_A_HUNDRED = 2.33  # deviations of a normal sample's 99th percentile
ABOVE = 2.0  # times that percentile, too
USUAL = 2.0  # deviations up to which a norm is usual
LARGEST = 700.0  # the logarithm of the largest number


@dataclass(frozen=True, slots=True)
class Gradients:
    """The running level of the gradient's norm, and the clock of the last spike."""

    level: SpikeState
    spiked: int | None = None


def begin() -> Gradients:
    """Nothing learned."""
    return Gradients(spike.init())


def update(state: Gradients, clock: int, seen: Observation) -> tuple[Gradients, tuple[Happening, ...]]:
    """Judge one norm, and learn it. What is zero or not finite is neither."""
    norm = seen.values.get("grad_norm")
    if norm is None or not 0.0 < norm < math.inf:
        return state, ()
    level, high = spike.update(state.level, norm)
    if not high or norm <= bar(state):
        return Gradients(level, state.spiked), ()
    return Gradients(level, clock), (_spike(seen, norm, state.level),)


def bar(state: Gradients) -> float:
    """The norm above which a gradient is a spike; infinity while too little was seen."""
    sd = spike.standard_deviation(state.level)
    return _above(state, max(OUT_OF_LINE * sd, ONE_IN_A_HUNDRED * sd + math.log(ABOVE)))


def usual(state: Gradients) -> float:
    """The norm at the upper edge of what is usual; infinity while too little was seen."""
    return _above(state, USUAL * spike.standard_deviation(state.level))


def _above(state: Gradients, height: float) -> float:
    if state.level.seen < state.level.warm_up:
        return math.inf
    return math.exp(min(state.level.level + height, LARGEST))


def _spike(seen: Observation, norm: float, before: SpikeState) -> Happening:
    level = math.exp(before.level)
    distance = (math.log(norm) - before.level) / spike.standard_deviation(before)
    return Happening(
        Kind.GRADIENT_SPIKE,
        seen.step,
        Severity.NOTE,
        f"The gradient's norm is {norm:.4g} at step {seen.step:,}; its usual level is {level:.4g}.",
        "One batch pulls much harder than the others; by itself that is no harm where gradients are clipped.",
        "clip gradients near their usual norm, if such steps are followed by a higher loss.",
        {"grad_norm": norm, "usual": level, "deviations": round(distance, 2)},
    )
