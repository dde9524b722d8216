"""Nearly every update is clipped to a small part of its gradient.

## What it checks
The gradient norm as logged, before the clip, against the norm that gradients are cut to. It fires where
nearly all logged norms are many times the limit.

## Why it matters
With SGD such a clip is a second learning rate: the one in the settings is divided by how far the gradient
is above the limit, and nobody sees by how much. Rates that were found without it do not hold.

## When it is harmless
Adam divides by the size of the gradients: cutting all of them changes nothing, and it is only noted. So is
it where the loss has come far down all the same, since whoever set the rate set it for this clip. A norm
that was logged after the clip never stands above the limit and says nothing.

## References
- Google's deep learning tuning playbook: clip at most half of the steps
- Detection transformers train with a limit of 0.1 and norms of ten
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.clip_limit import ClipLimit
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="NUM131", since="0.3", severity=Severity.WARNING)

FEWEST = 20
NEARLY_ALL = 0.95
TIMES = 20.0  # above the limit, in the middle
FALLEN = 0.6  # of its first level: a loss that came down so far was not held back


def examine(clip: ClipLimit, norm: GradNorm, loss: TrainLoss | None) -> Iterator[Finding]:
    """Fire where the clip decides about the length of nearly every step."""
    values = norm.series.finite().values
    if len(values) < FEWEST:
        raise InsufficientData(f"only {len(values)} gradient norms were logged")
    share = float(np.mean(values > 1.001 * clip.limit))
    times = float(np.median(values)) / clip.limit
    if share < NEARLY_ALL or times < TIMES:
        return
    held = clip.by_size and not _has_come_down(loss)
    yield Finding(
        (norm.series.where(), *clip.where),
        f"{share:.0%} of the logged gradient norms are above {clip.name} of {clip.limit:g}, by a factor of "
        f"{times:,.0f} in the middle" + ("" if clip.by_size else "; the optimizer makes up for their size"),
        evidence={"share": share, "times": times, "limit": clip.limit},
        strength=1.0 if held else 0.0,
        onset=int(norm.series.steps[0]) if held else None,
        severity=None if held else Severity.NOTE,
    )


def _has_come_down(loss: TrainLoss | None) -> bool:
    if loss is None:
        return True  # what cannot be seen is not held against it
    values = loss.series.finite().values
    tenth = max(len(values) // 10, 1)
    if len(values) < FEWEST or not loss.measures_progress:
        return True
    return float(np.median(values[-tenth:])) < FALLEN * float(np.median(values[:tenth]))
