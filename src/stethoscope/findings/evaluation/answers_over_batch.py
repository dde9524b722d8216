"""The answer is taken over the samples of a batch instead of the classes.

## What it checks
Loops over batches: whether the largest output is looked for along the first axis (`argmax(0)`, `max(dim=0)`)
of what the network gives for the batch, and then compared with the labels of the batch.

## Why it matters
The first axis is that of the samples. What is compared with the labels is which sample has most of each
class, a number below the batch size: the accuracy is near zero whatever the network has learned.

## When it is harmless
The output of one sample, taken by its number, has its classes on the first axis. Nothing is said there.

## References
- torch.argmax
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.answers_over_batch import answers_over_batch
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA215", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each comparison of labels with answers that were taken over the samples."""
    for one in answers_over_batch(evaluations.index):
        yield Finding(
            (one.chosen.where, one.compared.where),
            f"`{one.chosen.text}` looks for the largest output over the samples, not over the classes",
            {"chosen": one.chosen.text, "compared": one.compared.text},
            proof="the first axis of a network's output for a batch is that of the samples",
        )
