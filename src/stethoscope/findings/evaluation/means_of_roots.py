"""A score averages roots or exponentials of batches.

## What it checks
Loops over batches that evaluate: whether they add up, or collect, the root (`sqrt(mse)`) or the exponential
(`exp(loss)`) of the mean of a batch, and the sum is divided by the number of batches then.

## Why it matters
The mean of roots is smaller than the root of the mean, and the mean of exponentials larger than the
exponential of the mean: the root mean square error looks better, the perplexity worse, and both change with
the batch size. Numbers of two runs, or of a paper, cannot be compared.

## When it is harmless
Batches of one sample, for scores that are defined for each sample; sums that are rooted once, behind the
loop.

## References
- Jelinek et al., Perplexity, a measure of the difficulty of speech recognition tasks, 1977
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.averaged_curves import averaged_curves
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA740", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each average of bent numbers."""
    for found in averaged_curves(index(sources.program)):
        yield Finding(
            (found.added.where, found.divided.where),
            f"{found.what} of single batches are averaged: `{found.added.text}`",
            evidence={"what": found.what},
        )
