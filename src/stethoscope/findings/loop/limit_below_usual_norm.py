"""Updates are left out above a gradient norm that nearly every step exceeds.

## What it checks
Training loops that skip the update where the gradient norm is above a fixed number, against the norms that
the run logged: whether nine of ten are above it through the last third.

## Why it matters
Every step is thrown away. The weights stay as they are and the loss stays flat, while the log looks calm.

## When it is harmless
A limit far above the usual norm skips a spike now and then: that is what it is for. Clipping scales a large
gradient down and still makes the step.

## References
- Chowdhery et al., PaLM, 2022, on skipping batches
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.norm_limits import norm_limits
from stethoscope.signals.grad_norm import LOG_THIS, GradNorm
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP141", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

LEAST_POINTS = 12
LAST = 1 / 3  # of the log
NEARLY = 0.9  # of the steps


def examine(loops: TrainingLoops, norm: GradNorm) -> Iterator[Finding]:
    """Report limits that keep nearly every step from the weights."""
    series = norm.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell from {len(series)} gradient norms", LOG_THIS)
    last = series.select(slice(len(series) - int(len(series) * LAST), None))
    seen: set[object] = set()
    for loop in loops:
        for limit in norm_limits(loop):
            share = float(np.mean(last.values > limit.limit))
            if share < NEARLY or limit.scope.node in seen:
                continue
            seen.add(limit.scope.node)
            typical = float(np.median(last.values))
            yield Finding(
                (limit.scope.source.where(limit.scope.node), last.where()),
                f"updates are left out above a gradient norm of {limit.limit:.4g}; the last third of the run "
                f"has {typical:.4g}, and {share:.0%} of it is above",
                evidence={"limit": limit.limit, "norm": typical, "share": share},
            )
