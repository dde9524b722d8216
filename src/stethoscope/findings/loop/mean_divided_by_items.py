"""A Trainer gets a mean that is divided by the number of targets once more.

## What it checks
Functions that a Trainer of transformers hands `num_items_in_batch`, the number of targets in all batches of
an update: whether they divide by it what is a mean already, such as a cross entropy without
`reduction="sum"`.

## Why it matters
A batch has hundreds to thousands of targets. Divided by them twice, the loss and its gradients are that many
times too small: a limit on their norm never acts, Adam's epsilon weighs more than they do, weight decay is
all that is left, and the logged loss is close to zero from the first step.

## When it is harmless
A sum over the targets is divided once, as it should be, and so is a mean that was multiplied by the number
of its own targets before.

## References
- transformers.Trainer.compute_loss
- Hugging Face 2024, Fixing gradient accumulation
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.counted_items import divided_means
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP840", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each mean that is divided by the count of the whole update."""
    for one in divided_means(index(sources.program)):
        yield Finding(
            tuple(dict.fromkeys((one.divided, one.mean))),
            f"`{' '.join(one.text.split())[:50]}` is a mean, divided by a number of targets once more",
            evidence={"mean": one.text},
        )
