"""A metric holds the prediction against the network's own input instead of the target.

## What it checks
Every metric and loss that an evaluation computes of a prediction, and what it is compared with. Reported is
one that compares only with the first argument of the network, where training compares outputs with other data
and never with what the network was fed.

## Why it matters
The score says how little the network changes its input. It falls as the network learns, or is high from the
start, and it chooses checkpoints that do nothing.

## When it is harmless
Where the input is the target (autoencoders, next tokens), training says so, and nothing is reported. A metric
that is also taken against the target, and a difference from the input that is written out by hand, are not
reported either.

## References
- Karpathy, A Recipe for Training Neural Networks, 2019: verify what is measured on known inputs
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.validation_path import Yardstick

RULE = Rule(code="EVA176", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(yardstick: Yardstick) -> Iterator[Finding]:
    """Report each metric of a prediction and its input."""
    for one in yardstick.path.against_input:
        name = "this comparison" if one.metric == "==" else one.metric
        yield Finding(
            where=(one.measured.where, one.fed.where),
            message=f"{name} holds the prediction against what the network was fed, not against the target",
            evidence={"measured": one.measured.text, "fed": one.fed.text},
        )
