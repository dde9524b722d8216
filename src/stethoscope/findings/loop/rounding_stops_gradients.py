"""A layer rounds its weights, and nothing lets gradients past the rounding.

## What it checks
The products of a layer (`F.linear`, a convolution, `@`) whose weight went through `round`, `floor` or `sign`,
directly or in a function of the repository, in a program that trains.

## Why it matters
A rounding is flat: its gradient is zero everywhere. The weights behind it never move, while biases, scales
and norms learn, so that the loss falls a little and then stays.

## When it is harmless
A function of autograd of its own (`Round.apply`), and `w + (round(w) - w).detach()`, hand the gradient on as
if nothing had been rounded. What is rounded only for inference, or without gradients, has none to lose.

## References
- Bengio et al., Estimating or propagating gradients through stochastic neurons, 2013
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.rounded_weights_in_use import rounded_weights
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP320", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each weight whose only way into the layer is a rounding."""
    told: set[int] = set()
    for one in rounded_weights(index(sources.program)):
        if id(one.rounded.node) in told:
            continue
        told.add(id(one.rounded.node))
        yield Finding(
            (one.rounded.where, one.used.where),
            f"{one.weight} reaches the layer only through {one.rounded.text}, whose gradient is zero",
            evidence={"weight": one.weight, "rounded by": one.rounded.text},
        )
