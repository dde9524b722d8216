"""The learning rate stands at its height to the end.

## What it checks
A logged learning rate that has been at its highest for at least half of the log and is there where it ends.

## Why it matters
At a constant rate the weights keep moving about their minimum, by as much as the noise of a batch carries
them. Taking the rate away at the end brings the loss down once more, often by more than a longer run does.

## When it is harmless
A run that is not over yet, one that averages its weights, tuning with a small rate, reinforcement learning.
So this is only a note.

## References
- Hagele et al., "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations", 2024
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate

RULE = Rule(code="SCH330", since="0.6", severity=Severity.NOTE)

LEAST_POINTS = 10
AT_TOP = 0.98  # of the highest rate
HALF = 0.5


def examine(rates: LearningRate) -> Iterator[Finding]:
    """Note a rate that is at its height at the end."""
    rate = rates.main.finite()
    if len(rate) < LEAST_POINTS:
        raise InsufficientData(f"only {len(rate)} learning rates were logged")
    peak = float(rate.values.max())
    high = rate.values >= AT_TOP * peak
    if peak <= 0.0 or float(high.mean()) < HALF or not high[int(np.argmax(high)) :].all():
        return
    since = int(rate.steps[int(np.argmax(high))])
    yield Finding(
        rate.where(since, int(rate.steps[-1])),
        f"{rate.name} is {peak:.3g} from step {since:,} to the end of the log",
        {"peak": peak},
    )
