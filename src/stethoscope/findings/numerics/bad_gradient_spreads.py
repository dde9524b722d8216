"""One gradient that is not finite goes through the clip, and everything is lost.

## What it checks
Whether the gradient norm is the first thing that is not a number, at a step whose loss still is one, and
from then on the loss never is again; in a run that clips gradients and has no loss scaler that would have
skipped the step.

## Why it matters
`clip_grad_norm_` multiplies every gradient by the limit over the norm. Where the norm is NaN, so is the
factor, and one bad number in one layer becomes NaN in all of them; where it is infinite, all become zero
and the bad ones NaN. The step is made all the same, and nothing says so.

## When it is harmless
A loss scaler skips such steps, and so does a loop that looks at the norm before it steps: the loss goes on.
A loss that is not finite itself came first, and the clip only passed it on.

## References
- torch.nn.utils.clip_grad_norm_: error_if_nonfinite
- pytorch/pytorch issue 46849
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.clip_limit import ClipLimit
from stethoscope.signals.finite_checks import FiniteChecks
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="NUM130", since="0.3", severity=Severity.CRITICAL)

LEAST_AFTER = 3  # lost values behind it: a run that was stopped at once shows nothing


def examine(
    norm: GradNorm, loss: TrainLoss, clip: ClipLimit, scale: LossScale | None, checks: FiniteChecks | None
) -> Iterator[Finding]:
    """Fire where the norm breaks first and the loss never comes back."""
    if scale is not None or (checks is not None and checks.found):
        return
    bad_norms = norm.series.steps[~np.isfinite(norm.series.values)]
    bad_losses = np.nonzero(~np.isfinite(loss.series.values))[0]
    if len(bad_norms) == 0 or len(bad_losses) < LEAST_AFTER or norm.series.axis != loss.series.axis:
        return
    first = int(bad_norms[0])
    begin = int(bad_losses[0])
    is_lasting = bool(np.all(~np.isfinite(loss.series.values[begin:])))
    at = np.nonzero(loss.series.steps <= first)[0]
    was_finite = len(at) > 0 and bool(np.isfinite(loss.series.values[at[-1]]))
    is_next = begin == (int(at[-1]) + 1 if len(at) else -1)
    if is_lasting and was_finite and is_next:
        lost = int(loss.series.steps[begin])
        yield Finding(
            (norm.series.where(first), loss.series.where(lost, int(loss.series.steps[-1])), *clip.where),
            f"{norm.series.name} is not finite at step {first:,}, where {loss.series.name} still is; "
            f"gradients are clipped by that norm, and from step {lost:,} on nothing is a number",
            evidence={"norm": first, "loss": lost},
            onset=first,
        )
