"""Judges one optimizer step after another: takes what was seen, gives what happened and what to do about it.

Pure and without torch. The judges, one file per concern, are in `judges`; the detectors are those of the
post-mortem. Nothing that is not finite enters any statistic, and what is known is plain JSON on request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stethoscope.guard import plain
from stethoscope.guard.happening import Answer, Happening
from stethoscope.guard.judges import (
    answers,
    gradient_spikes,
    learning_rate,
    loss_scale,
    losses,
    non_finite,
    skips,
    standing_still,
    telling,
    thresholds,
)
from stethoscope.guard.judges.around import Around
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy

VERSION = 1  # of the plain form
NOTHING: tuple[Happening, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Everything the judges know. `clock` counts the steps that were judged; it never goes back.

    `suspect` is the clock at which that began for which a rewind was last asked.
    """

    clock: int = 0
    non_finite: non_finite.NonFinite = field(default_factory=non_finite.begin)
    skips: skips.Skips = field(default_factory=skips.begin)
    scale: loss_scale.Scale = field(default_factory=loss_scale.begin)
    rate: learning_rate.Rate = field(default_factory=learning_rate.begin)
    gradients: gradient_spikes.Gradients = field(default_factory=gradient_spikes.begin)
    losses: losses.Losses = field(default_factory=losses.begin)
    still: standing_still.Still = field(default_factory=standing_still.begin)
    beyond: thresholds.Beyond = field(default_factory=thresholds.begin)
    rewinds: answers.Rewinds = field(default_factory=answers.Rewinds)
    telling: telling.Telling = field(default_factory=telling.Telling)
    suspect: int | None = None


def begin(policy: Policy) -> Judgement:
    """Begin with nothing known."""
    return Judgement()


def update(state: Judgement, seen: Observation, policy: Policy) -> tuple[Judgement, tuple[Happening, ...]]:
    """Judge one step: what happened at it that is worth telling, and what is known after it."""
    clock = state.clock + 1
    bad, a = non_finite.update(state.non_finite, clock, seen)
    skipped, b = skips.update(state.skips, clock, seen, policy)
    scale, c = loss_scale.update(state.scale, clock, seen, policy)
    rate, d = learning_rate.update(state.rate, clock, seen)
    gradients, e = gradient_spikes.update(state.gradients, clock, seen)
    loss, f = losses.update(state.losses, clock, seen, Around(rate, gradients, bad, scale))
    still, g = standing_still.update(state.still, seen)
    beyond, h = thresholds.update(state.beyond, seen, policy)
    rewinds, told, suspect = state.rewinds, state.telling, state.suspect
    happened = NOTHING
    if a or b or c or d or e or f or g or h:
        wishes = (*a, *b, *c, *d, *e, *f, *g, *h)
        rewinds, told, suspect, happened = _settled(state, clock, seen, wishes, policy)
    state = Judgement(
        clock, bad, skipped, scale, rate, gradients, loss, still, beyond, rewinds, told, suspect
    )
    return state, happened


def after_rewind(state: Judgement) -> Judgement:
    """What is known once the run went back: the weights' past is shorter, the number of rewinds is not."""
    since = state.clock if state.suspect is None else state.suspect
    return replace(
        state,
        non_finite=non_finite.begin(),
        skips=replace(state.skips, in_a_row=0, overflows=0, recent=()),
        scale=loss_scale.begin(),
        losses=losses.after_rewind(state.losses, since),
        rewinds=answers.rewound(state.rewinds, state.clock),
        telling=telling.Telling(),
        suspect=None,
    )


def spike_bar(state: Judgement) -> float:
    """The gradient norm above which a gradient is a spike; infinity while too little was seen."""
    return gradient_spikes.bar(state.gradients)


def usual_gradient(state: Judgement) -> float:
    """The norm at the upper edge of what is usual, two deviations above the level; infinity as above."""
    return gradient_spikes.usual(state.gradients)


def to_state(state: Judgement) -> dict[str, Any]:
    """What is known as plain values that JSON holds exactly."""
    return {"version": VERSION, **plain.to_plain(state)}


def from_state(state: Mapping[str, Any]) -> Judgement:
    """What was known, from its plain form; ValueError where that is not one."""
    if state.get("version") != VERSION:
        raise ValueError(f"the judgement has version {state.get('version')!r}; expected {VERSION}")
    return plain.from_plain(Judgement, {name: value for name, value in state.items() if name != "version"})


def _settled(
    state: Judgement, clock: int, seen: Observation, wishes: tuple[Happening, ...], policy: Policy
) -> tuple[answers.Rewinds, telling.Telling, int | None, tuple[Happening, ...]]:
    """Grant or refuse what is asked for, and leave out what has been told often enough."""
    rewinds, told, suspect = state.rewinds, state.telling, state.suspect
    happened: list[Happening] = []
    for wish in wishes:
        told, heard = telling.hear(told, clock, wish)
        if heard is None:
            continue
        rewinds, answered = answers.grant(rewinds, clock, heard, policy)
        if answered.answer is Answer.REWIND:
            onset = seen.step if answered.onset is None else answered.onset
            suspect = clock - max(0, seen.step - onset)
        happened.append(answered)
    return rewinds, told, suspect, tuple(happened)
