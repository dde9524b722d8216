"""Two parameters that are multiplied with each other both start at zero.

## What it checks
Classes with two parameters, or two layers in a row, that begin at zero (`nn.Parameter(torch.zeros(...))`,
`nn.init.zeros_`) and that meet in one product, where nothing fills either of them with anything else.

## Why it matters
The gradient of a product with respect to one factor is the other factor. Both are zero, so both gradients are
zero, now and for ever: an adapter, a low-rank update or a gate that should be learnt stays what it is, and
the rest of the network trains as if it were not there.

## When it is harmless
One factor at zero is the usual start of an adapter: the product is zero and its gradient is not. Parameters
that are filled later, by the class or by who makes it, are left alone.

## References
- Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021, section 4.1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.weights.zero_factors import zero_products
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD220", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each product whose factors both start at zero."""
    for one in zero_products(index(sources.program)):
        first, second = one.names
        yield Finding(
            (one.source.where(one.product), *(one.source.where(node) for node in one.zeros)),
            f"{first} and {second} start at zero and are multiplied: neither ever gets a gradient",
            evidence={"first": first, "second": second},
            proof="the gradient of each factor is the other one, which is zero",
        )
