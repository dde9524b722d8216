"""A table of likenesses is made or read in a wrong way.

## What it checks
Cross entropies over tables of products: whether a table of a batch with itself, both views of every sample
joined, keeps its diagonal; whether a table whose first column is the matching pair is read as if the pair
lay on the diagonal; whether a table of two batches (`queries @ passages.T`) is asked for its first column in
every row; whether the rows that are held against each other were given a length of one down their columns;
and whether a temperature below one is multiplied with the table.

## Why it matters
Nothing is more like a sample than itself, so with the diagonal the answer can never win. Read along the
diagonal, the negatives of the queue are learned as matches; asked for one column, all queries are drawn to
the same passage. Rows whose columns were made unit vectors are nearly zero in a large batch, and as long as
their neighbours let them be. And a temperature that multiplies makes all likenesses nearly equal: the loss
stays at the logarithm of the batch.

## When it is harmless
A learned scale such as `logit_scale.exp()` multiplies and means it. A diagonal that is masked, filled,
removed or left out of the sum in any way is seen as such.

## References
- Chen et al., A Simple Framework for Contrastive Learning of Visual Representations, 2020
- He et al., Momentum Contrast for Unsupervised Visual Representation Learning, 2020, algorithm 1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.contrasts import contrasts
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ722", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)

WHY = {
    "itself": "holds every sample against itself, which is always the most like it",
    "labels": "asks for the diagonal of a table whose first column is the matching pair",
    "column": "asks for the first column in every row of a table of two batches, which is one pair's",
    "lengths": "sums along rows, and the columns have the length of one: it is a batch's, not a sample's",
    "temperature": "is a temperature below one and multiplies the likenesses, which makes them all alike",
}


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each table of likenesses that is made or read in a wrong way."""
    for one in contrasts(index(sources.program)):
        text = " ".join(ast.unparse(one.node).split())[:80]
        yield Finding(
            one.source.where(one.node), f"`{text}` {WHY[one.kind]}", evidence={"kind": one.kind, "part": text}
        )
