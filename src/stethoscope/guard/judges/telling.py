"""How often the same thing is told: at its first occurrence, then at the 2nd, 4th, 8th, and so on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.guard.happening import Happening

QUIET = 1000  # steps without it after which an occurrence counts as the first again


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one thing has happened lately, and when last."""

    key: str
    count: int
    last: int


@dataclass(frozen=True, slots=True)
class Telling:
    """What has been told of, one tally for each kind of thing."""

    tallies: tuple[Tally, ...] = ()


def hear(state: Telling, clock: int, happening: Happening) -> tuple[Telling, Happening | None]:
    """Count an occurrence, and give what to tell of it: nothing between two powers of two."""
    key = _key(happening)
    before = next((tally for tally in state.tallies if tally.key == key), None)
    fresh = before is None or clock - before.last > QUIET
    count = 1 if before is None or fresh else before.count + 1
    kept = tuple(tally for tally in state.tallies if tally.key != key and clock - tally.last <= QUIET)
    state = Telling((*kept, Tally(key, count, clock)))
    if count & (count - 1):
        return state, None
    return state, happening if count == 1 else _repeated(happening, count)


def _key(happening: Happening) -> str:
    """What makes two happenings the same: kind, gravity, what it asks for and is about."""
    return f"{happening.kind} {happening.severity} {happening.answer} {happening.facts.get('which', '')}"


def _repeated(happening: Happening, count: int) -> Happening:
    seen = f"{happening.seen} Seen {count} times lately; told again at {2 * count}."
    return replace(happening, seen=seen, facts={**happening.facts, "occurrences": count})
