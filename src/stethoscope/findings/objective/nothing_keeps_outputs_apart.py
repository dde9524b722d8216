"""The objective only draws outputs of one network together, and nothing keeps them apart.

## What it checks
Losses that are likenesses of two outputs of the same network and nothing else: whether gradients reach both
of them, and whether anything on the way holds one side still, pushes others away or adds another term.

## Why it matters
A network that answers everything alike is the best answer to such a loss. It is found within an epoch: the
loss falls to its lowest value at once, and the features are of no use.

## When it is harmless
A side that is detached, a target network that follows slowly, negatives, a term on the variance, a decoder or
labels each keep a network from it; nothing is said where any of these is spoken of.

## References
- Chen & He, Exploring Simple Siamese Representation Learning, 2021, section 4.1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.lone_attractions import LoneAttractions

RULE = Rule(code="OBJ227", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(attractions: LoneAttractions) -> Iterator[Finding]:
    """Report each objective that a constant network answers best."""
    for one in attractions:
        yield Finding(
            (one.likeness.where, one.first.where, one.second.where, one.sink.where),
            "all that is minimised draws two outputs of one network together, with gradients through both: "
            "a constant does that best",
            evidence={"likeness": one.likeness.text, "first": one.first.text, "second": one.second.text},
        )
