"""The learning rate: zero where it should not be, and leaps that explain what the loss does next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.detectors.lr_jump import FAR_ABOVE_PEAK, JUMP
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation

ZERO_AFTER = 8  # steps at zero after a rate above it; a cosine may touch zero for one
ZERO_FROM_START = 50  # a warm-up begins at zero, and leaves it


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate so far: last and highest, steps at zero, and its last leap upwards by the clock.

    `beyond` says that the leap went far above all rates before: no schedule restarts there. `moved` says that
    the weights were seen to change at a rate of zero: another group has another rate.
    """

    last: float = 0.0
    peak: float = 0.0
    zeros: int = 0
    moved: bool = False
    leapt: int | None = None
    leapt_from: float = 0.0
    leapt_to: float = 0.0
    beyond: bool = False


def begin() -> Rate:
    """Nothing known of the rate."""
    return Rate()


def update(state: Rate, clock: int, seen: Observation) -> tuple[Rate, tuple[Happening, ...]]:
    """Learn the rate of one step, and tell where it stays at zero."""
    rate = seen.values.get("lr")
    if rate is None or rate - rate != 0.0 or (rate == state.last and rate > 0.0):
        return state, ()
    if rate <= 0.0:
        return _at_zero(state, seen)
    peak = max(rate, state.peak)
    if rate > JUMP * state.last and state.peak > 0.0:
        beyond = rate > FAR_ABOVE_PEAK * state.peak
        return Rate(rate, peak, 0, False, clock, state.last, rate, beyond), ()
    return Rate(rate, peak, 0, False, state.leapt, state.leapt_from, state.leapt_to, state.beyond), ()


def leapt_since(state: Rate, clock: int) -> bool:
    """Whether the rate leapt up at or after a clock."""
    return state.leapt is not None and state.leapt >= clock


def _at_zero(state: Rate, seen: Observation) -> tuple[Rate, tuple[Happening, ...]]:
    moved = state.moved or seen.values.get("update_ratio", 0.0) > 0.0
    zeros = state.zeros + 1
    state = replace(state, last=0.0, zeros=zeros, moved=moved)
    limit = ZERO_AFTER if state.peak > 0.0 else ZERO_FROM_START
    return state, (_zero(state, seen),) if zeros == limit and not moved else ()


def _zero(state: Rate, seen: Observation) -> Happening:
    before = f"after {state.peak:g} at its highest" if state.peak > 0.0 else "and was never above"
    return Happening(
        Kind.LEARNING_RATE_ZERO,
        seen.step,
        Severity.WARNING,
        f"The learning rate of the first group is exactly 0 for {state.zeros} steps, up to step "
        f"{seen.step:,}, {before}.",
        "Steps are taken and nothing is learned.",
        "check that the schedule is as long as the run, and counts the same steps."
        if state.peak > 0.0
        else "check that the schedule is stepped, and that the rate in the settings reaches the optimizer.",
        {"zeros": state.zeros, "peak": state.peak},
        onset=seen.step - state.zeros + 1,
    )
