"""Behind a restart the loss is where the run began.

## What it checks
The first losses behind every restart that counts on, beside the last ones before it and the first ones of the
run: whether most of what was learned is gone, at once and by far more than the noise between neighbours.

## Why it matters
A resume that restores the weights goes on where it left off, whatever else it forgets: a lost optimizer state
or another order of the data costs a bump. A loss of an untrained network means that the weights were not
loaded, or into another network, or under names that did not fit. Everything before the restart was for
nothing, and the log looks like one run.

## When it is harmless
A restart that begins something else on purpose: other data, another loss, a new head. A run that begins to
count at zero again is another run, and is not looked at. What falls within the noise of the losses is not
reported.

## References
- torch.nn.Module.load_state_dict, `strict`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.restarts import Restarts

RULE = Rule(code="LOS400", since="0.6", severity=Severity.WARNING)

FEWEST_BEFORE = 5  # losses; fewer tell no level
LOOKED_AT = 3  # losses on either side
GONE = 0.7  # of what was learned: a lost optimizer state costs a third of it at most
BEYOND = 0.5  # of what was learned: further above the start is another loss, or a divergence
NOISES = 6.0  # standard deviations between neighbours
LEAST_LEARNED = 0.2  # of the first loss


def examine(loss: TrainLoss, restarts: Restarts) -> Iterator[Finding]:
    """Report each restart that begins with the loss of an untrained network."""
    if loss.progress is None or not restarts.from_scratch or not restarts.steps:
        return
    series = loss.progress.finite()
    if len(series) < 2 * FEWEST_BEFORE:
        raise InsufficientData(f"only {len(series)} losses were logged")
    told = -LOOKED_AT
    for step in restarts.steps:
        at = int(np.searchsorted(series.steps, step))
        found = _fallen_back(series, at, step) if FEWEST_BEFORE <= at < len(series) else None
        # What the log announces and where it begins anew may be a few points apart.
        if found is not None and at >= told + LOOKED_AT:
            told = at
            yield found


def _fallen_back(series: Series, at: int, step: int) -> Finding | None:
    first = float(np.median(series.values[:LOOKED_AT]))
    before = float(np.median(series.values[at - LOOKED_AT : at]))
    after = float(np.median(series.values[at : at + LOOKED_AT]))
    learned, lost = first - before, after - before
    least = max(NOISES * noise_sd(series.values[:at]), LEAST_LEARNED * abs(first))
    if learned < least or not GONE * learned <= lost <= (1 + BEYOND) * learned:
        return None
    return Finding(
        series.where(step),
        f"{series.name} is {after:.4g} behind the restart at step {step:,}, as at the beginning of the run "
        f"({first:.4g}), and was {before:.4g} before it",
        evidence={"first": first, "before": before, "after": after, "share_lost": lost / learned},
        onset=step,
    )
