"""The loss scale has reached zero, and no step can be taken any more.

## What it checks
The GradScaler's scale ends at zero (or so close that the log prints zero) after having been larger.

## Why it matters
Zero is a trap: zero doubled is zero. The loss times zero has no gradient, dividing by the scale gives NaN,
and every later step is skipped. The weights stay what they were when the scale died, while the log goes
on.

## When it is harmless
A column that is zero from the first line to the last says that no scaler was in use.

## References
- `torch.amp.GradScaler`: in single precision 166 halvings lead from 65,536 to zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="AMP102", since="0.1", severity=Severity.CRITICAL)


def examine(scale: LossScale) -> Iterator[Finding]:
    """Fire when the scale ends at zero."""
    series = scale.series.finite()
    alive = np.flatnonzero(series.values > 0.0)
    if len(series) == 0 or len(alive) == 0 or alive[-1] == len(series) - 1:
        return
    death = int(series.steps[alive[-1] + 1])
    last = int(series.steps[-1])
    yield Finding(
        series.where(death, last),
        f"the loss scale is 0 from step {death:,} to the end: no optimiser step was taken after it",
        {"zero_from": death, "steps_lost": last - death, "largest_scale": float(series.values.max())},
        onset=death,
        proof="the scaler multiplies its scale by a factor, so a scale of zero never changes again",
    )
