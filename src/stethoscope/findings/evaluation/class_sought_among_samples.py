"""The predicted class is sought along the axis of the samples.

## What it checks
`argmax` and `max` along the first axis of what a network gives for a batch, where the network is trained by
a cross entropy on that output, whose classes stand along the second axis.

## Why it matters
The largest score of each class is then looked for among the samples of the batch. What is compared with the
labels is the place of a sample, so that the accuracy is near chance whatever the network has learnt.

## When it is harmless
Scores of a single sample, picked out of the batch before, have their classes along the first axis. Where
the output is turned or reshaped nothing is said.

## References
- torch.nn.functional.cross_entropy: classes along the second axis
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.class_axes import sought_among_samples
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA203", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each search along the wrong axis once."""
    seen: set[object] = set()
    for walk in evaluations.walks:
        for call in sought_among_samples(walk):
            if call.site.node in seen:
                continue
            seen.add(call.site.node)
            yield Finding(
                call.site.where,
                f"`{call.site.text}` seeks the largest score among the samples, and not among the classes",
                evidence={"sought": call.site.text},
            )
