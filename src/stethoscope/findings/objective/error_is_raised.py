"""An error against the target enters what is minimised with a minus, so training raises it.

## What it checks
Each loss and each error between a prediction and data, with the sign that it has in what is minimised. One
with a minus is reported where a single function of the program trains, the other side comes with the data,
and nothing but sums, positive weights, masks and averages stands between the error and the backward pass.

## Why it matters
The optimiser makes the error as large as it can. The loss falls without end, mostly into NaN, and the metric
gets worse from the first step on.

## When it is harmless
Games and attacks raise errors on purpose: adversaries, unlearning, what a network must not know. Where names
around the loss speak of such, where a margin or another bound ends the rise, where both sides come from
networks, or where several functions train, nothing is reported; nor with `maximize=True`.

## References
- torch.optim.Optimizer, which lowers what it is given
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.raised_errors import RaisedErrors

RULE = Rule(code="OBJ177", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(errors: RaisedErrors) -> Iterator[Finding]:
    """Report each error that is raised."""
    for error in errors.found:
        text = " ".join(error.site.text.split())[:120]
        yield Finding(
            where=(error.site.where, error.sink.where),
            message="this error of the prediction is minimised with a minus, so training raises it",
            evidence={"error": text},
            strength=0.95,
        )
