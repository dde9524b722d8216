"""A term of the loss is computed and logged, and left out of what is minimised.

## What it checks
Functions that minimise one loss under another name for it (`total = recon_loss`): whether they compute a
second one from the same pass of the network that nothing but a log ever reads.

## Why it matters
The log shows the term beside the others, and nobody misses it in the sum. The network never learns what the
term asks for: a code without a prior, boxes that stay where they began.

## When it is harmless
A term computed without gradients, from detached values or of the same two sides as the loss is a metric. One
that a weight of zero switches off is still in the sum, and a baseline or a validation loss is called so.

## References
- Kingma and Welling, "Auto-encoding variational Bayes", 2014: a loss of two terms
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.left_out_terms import left_out_terms
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ410", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each term that is only logged."""
    for one in left_out_terms(index(sources.program)):
        yield Finding(
            (one.whole.where, one.term.where),
            f"{one.name} is computed and logged, and not in what is minimised: `{one.whole.text[:60]}`",
            evidence={"term": one.term.text, "whole": one.whole.text},
        )
