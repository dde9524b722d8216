"""A sigmoid is applied before a loss that applies its own.

## What it checks
What `binary_cross_entropy_with_logits`, `BCEWithLogitsLoss` and `sigmoid_focal_loss` are given as their
prediction, followed back through views, casts, helper functions and the network: whether a sigmoid is the
last thing done to it.

## Why it matters
The loss sees values between 0 and 1 and takes them for logits: it believes every probability to lie between
0.50 and 0.73, so negatives are never learned and the loss cannot fall below 0.31 for them.

## When it is harmless
A sigmoid before `binary_cross_entropy` or `BCELoss` is right. A sigmoid that is only used for a metric, or
applied in evaluation only, is not on the way to the loss.

## References
- torch.nn.BCEWithLogitsLoss
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.loss_calls import EXPECTED, LOGITS, by_activation
from stethoscope.program.objective.unwrapping import without_call
from stethoscope.signals.loss_calls import LossCalls

RULE = Rule(code="OBJ102", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(losses: LossCalls) -> Iterator[Finding]:
    """Report each loss on logits that gets a sigmoid."""
    wrong = [call for call in losses if EXPECTED[call.loss] == (LOGITS, "sigmoid")]
    for activation, calls in by_activation(call for call in wrong if call.activation == "sigmoid"):
        yield Finding(
            where=(activation.where, *(call.site.where for call in calls)),
            message=f"{calls[0].loss} gets a sigmoid, and applies its own",
            evidence={"loss": calls[0].site.text, "activation": activation.text},
            proof="a sigmoid of a sigmoid lies between 0.50 and 0.73",
            fix=without_call(activation, "give the loss the logits"),
        )
