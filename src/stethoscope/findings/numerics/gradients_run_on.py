"""The gradient norm moves from step to step like a running sum, not like gradients of single batches.

## What it checks
A gradient norm that is logged at every step: whether it changes from one step to the next by a few percent
only, and by less than half of what the loss of the batches does.

## Why it matters
Each step sees another batch, and the gradient of a batch strays more than its loss. A norm that glides while
the losses jump belongs to gradients that are carried over: those of earlier steps are never cleared, and each
update follows the sum of all of them.

## When it is harmless
Very large batches, or the same batch every time, make both quiet. A norm that is logged behind a clip stands
at the limit, and one that is averaged by the logger beside an average of the loss glides with it.

## References
- `torch.optim.Optimizer.zero_grad`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="NUM243", since="0.5", severity=Severity.WARNING)

FEWEST = 40
GLIDES = 0.06  # relative change from step to step
OF_THE_LOSS = 0.5  # times its own relative change
AT_A_LIMIT = 0.2  # of the values within a thousandth of the highest: the norm stands at a clip


def examine(norm: GradNorm, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on a norm that glides beside losses that jump."""
    norms, losses = norm.series.finite(), loss.series.finite()
    if len(norms) < FEWEST or len(losses) < FEWEST or norms.cadence() != 1 or losses.cadence() != 1:
        raise InsufficientData("the gradient norm was not logged at every step beside the loss")
    values, beside = norms.values, losses.values
    if float(values.min()) <= 0.0 or float(beside.min()) <= 0.0 or _stands_at_a_limit(values):
        return
    strays, jumps = noise_sd(np.log(values)), noise_sd(np.log(beside))
    if strays <= 0.0 or strays > min(GLIDES, OF_THE_LOSS * jumps):
        return
    yield Finding(
        (norms.where(), losses.where()),
        f"{norms.name} changes by {strays:.1%} from step to step, and {losses.name} by {jumps:.1%}: the "
        "gradients of one batch have much in common with those of the one before",
        {"strays": strays, "jumps": jumps},
        onset=int(norms.steps[0]),
    )


def _stands_at_a_limit(values: Values) -> bool:
    return float(np.mean(values >= 0.999 * float(values.max()))) > AT_A_LIMIT
