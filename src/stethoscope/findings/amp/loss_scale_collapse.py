"""The loss scale keeps halving until gradients vanish.

## What it checks
The GradScaler's scale falls below 1 and has not recovered by the end of the log.

## Why it matters
Each halving means a step was skipped because its gradients were not finite.

## When it is harmless
A dip that climbs back is the scaler doing its job.

## References
- `torch.amp.GradScaler`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="AMP101", since="0.1", severity=Severity.CRITICAL)

FLOOR = 1.0  # below this the scaler shrinks gradients


def examine(scale: LossScale) -> Iterator[Finding]:
    """Fire when the scale ends below the floor."""
    below = scale.series.select(scale.series.values < FLOOR)
    if len(below) and below.steps[-1] == scale.series.steps[-1]:
        onset = int(below.steps[0])
        last = scale.series.values[-1]
        yield Finding(scale.series.where(onset, int(below.steps[-1])), f"loss scale ends at {last:g}", onset=onset)
