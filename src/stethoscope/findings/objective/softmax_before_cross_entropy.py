"""Probabilities are given to a cross entropy that expects logits.

## What it checks
What `cross_entropy` or `CrossEntropyLoss` is given as its prediction, followed back through views, casts,
helper functions, the network's forward and the last layer of a Sequential: whether a softmax is the last
thing done to it. A plain `nll_loss` on a softmax without its logarithm is the same mistake.

## Why it matters
The loss applies its own softmax. On values between 0 and 1 it can never come near zero (with 10 classes not
below 1.46), gradients are small, and training is slow and ends early with a loss that looks stuck.

## When it is harmless
A softmax that is only used for a metric or returned for inference is not on the way to the loss. A
`log_softmax` changes nothing, since its softmax is the same again. Where only one of several ways to compute
the prediction has a softmax, nothing is said.

## References
- torch.nn.CrossEntropyLoss
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.only_measured import is_only_measured
from stethoscope.program.objective.loss_calls import (
    EXPECTED,
    LOG_PROBABILITIES,
    LOGITS,
    LossCall,
    by_activation,
)
from stethoscope.program.objective.unwrapping import without_call
from stethoscope.signals.loss_calls import LossCalls

RULE = Rule(code="OBJ101", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(losses: LossCalls) -> Iterator[Finding]:
    """Report each cross entropy of a softmax."""
    wrong = (call for call in losses if call.activation == "softmax" and _wants_more(call))
    for activation, calls in by_activation(wrong):
        first = calls[0]
        yield Finding(
            where=(activation.where, *(call.site.where for call in calls)),
            message=f"{first.loss} gets a softmax, and expects {first.expects}",
            evidence={
                "loss": first.site.text,
                "activation": activation.text,
                "measured": is_only_measured(activation),
            },
            proof="a softmax of a softmax is bounded away from certainty, so the loss is too",
            fix=without_call(activation, "give the loss the logits")
            if all(map(_is_entropy, calls))
            else None,
        )


def _wants_more(call: LossCall) -> bool:
    return _is_entropy(call) or call.expects == LOG_PROBABILITIES


def _is_entropy(call: LossCall) -> bool:
    return EXPECTED[call.loss] == (LOGITS, "softmax")
