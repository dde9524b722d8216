"""The loss is a mean over a mask that may be empty, and the log has NaN.

## What it checks
Losses that divide by the sum of a mask with nothing that keeps it above zero, in runs whose loss was NaN or
infinite at least once.

## Why it matters
A batch without a single counted element gives zero divided by zero. Where the step is not skipped, that NaN
is in every weight afterwards.

## When it is harmless
As long as every batch has something to count, nothing happens: without a NaN in the log this is not reported.

## References
- torch.nn.functional.cross_entropy, which gives NaN where every label is ignored
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.empty_means import empty_means
from stethoscope.run import Series
from stethoscope.signals.evaluations import Evaluations
from stethoscope.signals.every_series import EverySeries

RULE = Rule(code="OBJ141", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations, every: EverySeries) -> Iterator[Finding]:
    """Report unguarded means of a run whose loss went bad."""
    bad = _went_bad(every)
    if bad is None:
        return
    first = int(bad.steps[~np.isfinite(bad.values)][0])
    for source, node in empty_means(evaluations.index):
        yield Finding(
            (source.where(node), bad.where(first, first)),
            f"nothing keeps the divisor from zero, and {bad.name} is not finite at step {first}",
            evidence={"series": bad.name},
            onset=first,
        )


def _went_bad(every: EverySeries) -> Series | None:
    """A loss that was a number and then was none, even if only once."""
    losses = (one for name, one in every.series.items() if name == "loss" or name.startswith("loss/"))
    return next(
        (one for one in losses if np.isfinite(one.values[:1]).all() and not np.isfinite(one.values).all()),
        None,
    )
