"""The gradient norm is exactly zero, and the loss stays where it is.

## What it checks
At least twenty lines with a gradient norm that is zero on every one of them, beside a loss that does not
fall: the middle of its last quarter is no lower than that of its first, but for the noise.

## Why it matters
Nothing is learnt. Between the loss and the parameters the graph is cut: a detach, a no_grad, frozen inputs
under checkpointed activations, or an optimizer whose parameters are not those of the network.

## When it is harmless
Some trainers print a zero where the norm was not measured. Then the loss falls all the same, and nothing is
reported.

## References
- `torch.utils.checkpoint`: without an input that requires a gradient, the reentrant form gives none
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="LOS150", since="0.2", severity=Severity.CRITICAL)

LEAST_POINTS = 20
NOISES = 1.0  # deviations by which the median of a quarter may lie lower and still be the same


def examine(gradients: GradNorm, loss: TrainLoss) -> Iterator[Finding]:
    """Fire where no gradient was ever logged that is not zero, and the loss did not fall."""
    norm, values = gradients.series.finite(), loss.series.finite().values
    if len(norm) < LEAST_POINTS or len(values) < LEAST_POINTS:
        raise InsufficientData(
            f"fewer than {LEAST_POINTS} values of the loss and of its gradient were logged"
        )
    if norm.values.any() or _falls(values):
        return
    first, last = int(norm.steps[0]), int(norm.steps[-1])
    yield Finding(
        (norm.where(first, last), loss.series.where()),
        f"{norm.name} is exactly 0 on all {len(norm):,} lines and the loss stays at "
        f"{np.median(values):.4g}: no gradient reaches the parameters",
        {"lines": len(norm), "loss": float(np.median(values))},
        onset=first,
    )


def _falls(values: Values) -> bool:
    quarter = len(values) // 4
    fall = float(np.median(values[:quarter]) - np.median(values[-quarter:]))
    return fall > NOISES * noise_sd(values)
