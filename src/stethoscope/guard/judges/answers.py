"""What a wish to rewind gets: a rewind, where it is allowed and has not been tried too often."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.guard.happening import Answer, Happening, Severity
from stethoscope.guard.policy import MOST_REWINDS, REWIND_SPAN, Policy

WINDOWS = 2  # an observation is at most so many windows old, so a rewind that was asked for may be on its way


@dataclass(frozen=True, slots=True)
class Rewinds:
    """The rewinds that were made, and the last one asked for and not yet made, by the clock."""

    made: tuple[int, ...] = ()
    asked: int | None = None


def grant(state: Rewinds, clock: int, wish: Happening, policy: Policy) -> tuple[Rewinds, Happening]:
    """Settle the answer of one happening: only wishes to rewind are changed."""
    if wish.answer is not Answer.REWIND:
        return state, wish
    if not policy.rewind or (state.asked is not None and clock - state.asked <= WINDOWS * policy.window):
        return state, replace(wish, answer=Answer.NONE)
    lately = sum(clock - made <= REWIND_SPAN for made in state.made)
    if lately >= MOST_REWINDS:
        return state, _stopped(wish, lately)
    return Rewinds(state.made, clock), replace(wish, severity=Severity.CRITICAL)


def rewound(state: Rewinds, clock: int) -> Rewinds:
    """Count a rewind that was made."""
    lately = tuple(made for made in state.made if clock - made <= REWIND_SPAN)
    return Rewinds((*lately, clock))


def _stopped(wish: Happening, lately: int) -> Happening:
    return replace(
        wish,
        severity=Severity.CRITICAL,
        answer=Answer.STOP,
        means=f"{wish.means} The run went back {lately} times within {REWIND_SPAN:,} steps and it came "
        "again: going back once more will not cure it.",
        facts={**wish.facts, "rewinds": lately},
    )
