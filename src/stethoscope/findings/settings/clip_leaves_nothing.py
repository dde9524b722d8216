"""Gradients are clipped to a norm that cannot move the weights.

## What it checks
The norm that gradients are cut to against what the optimizer makes of it. SGD moves the weights by at most
rate times norm at a step, so the whole run cannot move them further than that times its updates (and what
momentum adds). Adam divides by the size of the gradients and is indifferent to it, until they come near its
epsilon.

## Why it matters
Weights of a layer have a norm of several units and training moves them by about as much. A run that can
move them by a tenth of a unit ends where it began; nothing fails, and the loss just does not fall.

## When it is harmless
With Adam any ordinary limit is harmless, 0.1 as well as 5, however many steps it cuts. With SGD a low limit
and a high rate make up for each other: it is their product that counts. Nothing is said where the rate, the
optimizer or the length of the run is not known. Weights that are already trained need not go far. A clip of
single values is another setting.

## References
- Google's deep learning tuning playbook: gradient clipping
- Adam's epsilon: Kingma and Ba 2015
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.clip_limit import ClipLimit
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="SET131", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

# Over ten thousand weights, a norm of a hundred epsilons leaves one epsilon to each: Adam's step halves.
EPSILONS = 100.0
USUAL_EPSILON = 1e-6  # where it is larger, it is the one at fault
# The furthest that all updates together may move weights for nothing to be learned, in units of their norm.
TRAVEL = 0.3
ENOUGH = 1.0  # with gradients of a norm of one; a rate that goes less far is at fault itself
LEAST_UPDATES = 50


def examine(clip: ClipLimit, start: StartingPoint) -> Iterator[Finding]:
    """Fire where the limit keeps the weights where they are."""
    if not (clip.adaptive or clip.by_size):
        raise InsufficientData("which optimizer gets the clipped gradients is not known")
    if clip.adaptive:
        if clip.eps <= USUAL_EPSILON and clip.limit <= EPSILONS * clip.eps:
            yield Finding(
                clip.where,
                f"{clip.name} is {clip.limit:g}, of which each weight's gradient is a small part, and the "
                f"optimizer adds {clip.eps:g} before it divides by their size: hardly anything is left",
                evidence={"limit": clip.limit, "eps": clip.eps},
            )
        return
    if clip.rate is None or clip.updates is None or clip.updates < LEAST_UPDATES:
        raise InsufficientData("the learning rate or the length of the run is not known")
    by_rate = clip.rate * clip.updates / max(1.0 - clip.momentum, 0.01)
    travel = clip.limit * by_rate
    if travel <= TRAVEL and by_rate >= ENOUGH and start.from_scratch:
        yield Finding(
            clip.where,
            f"{clip.name} is {clip.limit:g}: at a rate of {clip.rate:g}, all {clip.updates:,.0f} updates "
            f"together cannot move the weights further than {travel:.2g}",
            evidence={"limit": clip.limit, "rate": clip.rate, "travel": travel},
            proof="no update is longer than the rate times the norm that gradients are cut to",
        )
