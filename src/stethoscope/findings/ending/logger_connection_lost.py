"""The run ended because its logger lost the connection.

## What it checks
The last exception of the output, no step behind it: an error of the network that was raised through the
client of an experiment tracker (W&B, MLflow, Comet, Neptune, ClearML).

## Why it matters
The training itself was fine: it died of a telephone call. Logging that can fail must not be able to end a
run.

## When it is harmless
A client that tries again goes on, and has steps behind its warnings. An upload that fails after the end of
the training is only noted.

## References
- W&B: `WANDB_MODE=offline`, `wandb sync`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END112", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when an error of the logger's network ended the run."""
    return cut_short_by(end, Manner.LOGGER, what="the logger lost its connection")
