"""A checkpointed block gets inputs without gradients, so that its weights get none.

## What it checks
PyTorch's own warning that none of the inputs of a checkpointed part of the network require gradients.

## Why it matters
With the reentrant form of activation checkpointing, the gradient of everything inside such a part is None. It
happens where the embedding is frozen, as with adapters, and the first block then learns nothing; where all
blocks are one part, nothing at all is learned.

## When it is harmless
Where everything inside is frozen, on purpose. It is a note while the loss falls.

## References
- torch.utils.checkpoint, use_reentrant; enable_input_require_grads in adapters
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="WRN104", since="0.4", severity=Severity.WARNING)

_SAID = "None of the inputs have requires_grad=True"
FALLS = 0.95  # of its first values
FEW = 3


def examine(said: Announcements, loss: TrainLoss | None) -> Iterator[Finding]:
    """Report the first time it is said; a warning where the loss does not fall."""
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        if _SAID in event.message:
            learns = loss is not None and _falls(loss)
            yield Finding(
                Where(event.file, event.line),
                "a checkpointed part gets inputs without gradients: what it holds learns nothing"
                + (", and the loss does not fall" if loss is not None and not learns else ""),
                {"learns": learns},
                severity=Severity.NOTE if learns or loss is None else Severity.WARNING,
            )
            return


def _falls(loss: TrainLoss) -> bool:
    values = loss.series.finite().values
    if len(values) < 2 * FEW:
        return True  # too early to say
    return bool(np.median(values[-FEW:]) < FALLS * np.median(values[:FEW]))
