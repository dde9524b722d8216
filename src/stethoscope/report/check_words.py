"""What a run held to its trajectory is told in: sentences that every format shares."""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.report.clean_text import one_line
from stethoscope.report.words import count, number
from stethoscope.trajectory.holding import Departure, JudgedSign, JudgedSignal, Judgement, Outcome
from stethoscope.trajectory.trajectory import Condition, Held, Phase, Scale

RARE = 1e-4  # a chance below it is told as that


def headline(judgement: Judgement) -> str:
    """The outcome in one sentence."""
    name = one_line(judgement.run.name or judgement.run.path, 80)
    told = [count(len(judgement.left), "signal left its band", "signals left their bands")]
    told += [count(len(judgement.warned), "warning sign showed", "warning signs showed")]
    departed = [part for part, shown in zip(told, (judgement.left, judgement.warned), strict=True) if shown]
    if departed:
        return f"{name}: {' and '.join(departed)}"
    if not judgement.examined:
        return f"{name}: nothing could be examined"
    held = sum(one.outcome is Outcome.HELD for one in judgement.signals)
    inside = count(held, "signal in its band", "signals in their bands")
    return f"{name}: held; {inside}"


def signal_sentence(one: JudgedSignal) -> str:
    """What became of a signal."""
    if one.departure is not None:
        return departure_sentence(one.held, one.departure)
    if one.outcome is not Outcome.HELD:
        return one.why
    reached = f"{one.reached} of {count(len(one.held.rows), held_unit(one))}"
    if one.better:
        return f"{reached}; better than expected"
    outside = sum(one.is_outside(level) for level in one.levels)
    return f"{reached}; outside in {outside}, too little to be sure" if outside else reached


def departure_sentence(held: Held, gone: Departure) -> str:
    """Which way, by how much, since when, how likely that is in a healthy run."""
    side = "above" if gone.above else "below"
    until = "to the end" if gone.to_the_end else f"until {held.unit} {gone.last:,}"
    told = f"{side} its band from {held.unit} {gone.first:,} {until}"
    if math.isnan(gone.seen):
        return f"{told}: most of its values are not finite"
    what = "expected" if gone.expected != gone.limit else "the limit"
    told += f"; at {held.unit} {gone.worst:,} it is {number(gone.seen)}, {what} {number(gone.expected)}"
    told += f" ({_by_how_much(held, gone)})"
    return f"{told}; {_chance(gone.chance)}" if gone.chance > 0.0 else told


def sign_sentence(one: JudgedSign) -> str:
    """What a warning sign showed."""
    assert one.seen is not None
    sign, seen = one.sign, one.seen
    if sign.when is Condition.FALLING:
        told = f"{sign.signal} falls without end since step {seen.first:,}: {count(seen.points, 'overflow')}"
    else:
        limit = f" {number(sign.value)}" if sign.value is not None else ""
        until = "to the end" if seen.to_the_end else f"to step {seen.last:,}"
        told = f"{sign.signal} is {sign.when}{limit} from step {seen.first:,} {until}"
    return f"{told}: {one_line(sign.why)}" if sign.why else told


def held_unit(one: JudgedSignal) -> str:
    """What the named places of a signal are."""
    return "step" if one.held.unit == "row" else one.held.unit


def phase_of(judgement: Judgement, step: int) -> Phase | None:
    """The phase that a step lies in."""
    return next((one for one in judgement.trajectory.phases if one.first <= step <= one.last), None)


def sentences(judgement: Judgement) -> Iterator[tuple[str, str]]:
    """Each departure as the name of its signal and a sentence."""
    for one in judgement.left:
        assert one.departure is not None
        phase = phase_of(judgement, one.departure.first)
        within = f" (in the phase {one_line(phase.name)})" if phase is not None and phase.name else ""
        yield one_line(one.held.name), signal_sentence(one) + within
    for sign in judgement.warned:
        yield one_line(sign.sign.signal), sign_sentence(sign)


def _by_how_much(held: Held, gone: Departure) -> str:
    if (held.scale is Scale.LOG or held.exact) and gone.expected > 0.0 and gone.seen > 0.0:
        ratio = gone.seen / gone.expected
        return f"{number(ratio)} times" if ratio >= 2.0 else f"{ratio - 1.0:+.0%}"
    return f"off by {number(gone.seen - gone.expected)}"


def _chance(chance: float) -> str:
    if chance < RARE:
        return "fewer than 1 in 10,000 healthy runs do so"
    return f"about 1 in {round(1.0 / chance):,} healthy runs does so"
