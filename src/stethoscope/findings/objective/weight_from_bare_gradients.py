"""A loss is weighed by a quotient of two gradients, and nothing bounds it.

## What it checks
Functions that take gradients of two losses with `torch.autograd.grad` and divide the size of one by that of
the other: whether anything is added below the line or bounds the result.

## Why it matters
The gradient of a discriminator's term is all but zero while it is certain, and at the start. The weight is
then a division by nearly nothing: one step with a weight of 1e8, or of infinity, undoes the network.

## When it is harmless
A small number below the line, or a clamp of any kind in the same function, is enough.

## References
- Esser et al., Taming Transformers for High-Resolution Image Synthesis, 2021, equation 7
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.gradient_quotients import gradient_quotients
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ727", since="0.5", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each weight that nothing bounds."""
    for one in gradient_quotients(index(sources.program)):
        text = ast.unparse(one.node)
        yield Finding(
            one.source.where(one.node),
            f"`{text}` divides by a gradient that may be zero, and nothing bounds the weight",
            evidence={"weight": text},
        )
