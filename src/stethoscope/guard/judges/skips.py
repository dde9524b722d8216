"""The budget of skipped steps: a run that is protected too often stands still, and should say so and stop."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.detectors.scaler import SEARCH_STEPS
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy

SPAN = 1000  # steps of which a share may be skipped
MOST_OVERFLOWS = 20  # in a row: a scale of 65,536 is below one by then, and no scale is small enough


@dataclass(frozen=True, slots=True)
class Skips:
    """Skipped steps: in a row, the scaler's own in a row, and the clocks of the latest.

    `scaled` is the clock of the first step with a loss scale.
    """

    in_a_row: int = 0
    overflows: int = 0
    recent: tuple[int, ...] = ()
    scaled: int | None = None


def begin() -> Skips:
    """Nothing skipped so far."""
    return Skips()


def update(
    state: Skips, clock: int, seen: Observation, policy: Policy
) -> tuple[Skips, tuple[Happening, ...]]:
    """Count one step, and tell when the budget is spent."""
    scaled = state.scaled
    if scaled is None and "loss_scale" in seen.values:
        scaled = clock
    if not seen.skipped:
        if state.in_a_row or state.overflows or scaled != state.scaled:
            return Skips(0, 0, state.recent, scaled), ()
        return state, ()
    if "loss_scale" in seen.values:
        state = Skips(state.in_a_row, state.overflows + 1, state.recent, scaled)
        searching = scaled is not None and clock - scaled <= SEARCH_STEPS
        if state.overflows < MOST_OVERFLOWS or searching:
            return state, ()
        return state, (_spiral(seen, state.overflows),)
    budget = int(policy.most_share * SPAN)
    recent = (*(at for at in state.recent if clock - at < SPAN), clock)[-budget - 1 :]
    state = Skips(state.in_a_row + 1, state.overflows, recent, scaled)
    if state.in_a_row > policy.most_in_a_row:
        return state, (_in_a_row(seen, state.in_a_row, policy),)
    if len(recent) > budget:
        return state, (_too_many(seen, len(recent), policy),)
    return state, ()


def _in_a_row(seen: Observation, count: int, policy: Policy) -> Happening:
    # A state that gives one bad step after another is itself bad: going back may help, skipping does not.
    answer = Answer.REWIND if policy.rewind else Answer.STOP
    return Happening(
        Kind.SKIP_BUDGET,
        seen.step,
        Severity.CRITICAL,
        f"{count} steps in a row were skipped, up to step {seen.step:,}; at most {policy.most_in_a_row} are "
        "allowed.",
        "The run is frozen, not protected: each step gives values that are not finite.",
        "go back to a checkpoint from before the first of them, and look at what that step was given.",
        {"which": "in a row", "skips": count, "most": policy.most_in_a_row},
        answer,
        onset=seen.step - count + 1,
    )


def _too_many(seen: Observation, count: int, policy: Policy) -> Happening:
    return Happening(
        Kind.SKIP_BUDGET,
        seen.step,
        Severity.CRITICAL,
        f"{count} of the last {SPAN:,} steps were skipped, up to step {seen.step:,}; "
        f"at most {policy.most_share:.3g} of them are allowed.",
        "Bad steps come too often for accidents; what is skipped is missing from the training.",
        "find what the bad steps have in common: their samples, one part of the loss, one layer.",
        {"which": "share", "skips": count, "most": policy.most_share * SPAN},
        Answer.STOP,
    )


def _spiral(seen: Observation, count: int) -> Happening:
    scale = seen.values["loss_scale"]
    return Happening(
        Kind.SKIP_BUDGET,
        seen.step,
        Severity.CRITICAL,
        f"The scaler skipped {count} steps in a row, up to step {seen.step:,}; its scale is {scale:g}.",
        "No scale is small enough: gradients overflow or are NaN whatever they are multiplied by, and no "
        "step is taken any more.",
        "run this batch forward in float32 or bfloat16, and find the first value that is not finite.",
        {"which": "scaler", "skips": count, "loss_scale": scale if scale - scale == 0.0 else None},
        Answer.STOP,
        onset=seen.step - count + 1,
    )
