"""Attention makes the weights of each key add up to one, not those of each query.

## What it checks
Where the source writes attention out: which axis of the products of queries and keys the softmax runs along.
The axis is read from the formula of an `einsum`, or from the product with turned keys.

## Why it matters
Each query should share its attention out among the keys. Along the other axis each key is shared out among
the queries: what a query gets does not add up to one, grows with the number of queries, and in a masked
attention lets later tokens change earlier ones.

## When it is harmless
Slot attention lets queries compete for keys and divides by the sum afterwards; that, routing, clustering and
attention in two directions are left alone.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2.1
- Locatello et al., Object-Centric Learning with Slot Attention, 2020
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.weights.attention_axes import along_queries
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ720", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each softmax of attention along the queries."""
    for one in along_queries(index(sources.program)):
        product = " ".join(ast.unparse(one.product).split())[:80]
        yield Finding(
            (one.source.where(one.softmax), one.source.where(one.product)),
            f"the softmax runs along axis {one.axis} of `{product}`, which counts the queries",
            evidence={"axis": one.axis, "product": product},
        )
