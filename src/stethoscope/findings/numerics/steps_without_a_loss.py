"""The loss is no number at many steps, here and there, and is one again right after.

## What it checks
A training loss that is not finite at more than one in twenty of its logged steps, all through the run: at
uneven distances, on the same beat as its other steps, where the rate or the gradient norm of that very step
is a number. Steps that the loss scaler or Guard skipped do not count.

## Why it matters
The loss is computed from the batch, so such a batch cannot be learned from. That the next step has a number
again means that its update was thrown away: a good part of the data, always the same, is never learned. A
value in it is not finite, or one sample drives a term of the loss out of range.

## When it is harmless
A table with a column for each signal has holes where a signal was not measured; those lie at even distances,
or in rows of their own. A loss that is not finite once or twice may be a batch without anything to learn.

## References
- IEEE 754, arithmetic on NaN and infinity
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.non_finite import is_bad
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Steps
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.skipped_steps import SkippedSteps

RULE = Rule(code="NUM330", since="0.6", severity=Severity.WARNING)

LEAST_POINTS = 16
OFTEN = 0.05  # a share of lost values above this is more than an accident
MOST = 0.7  # of them; what is lost at nearly every step was never a number
FEWEST = 4
UNEVEN = 0.35  # the spread of the distances by their mean: chance gives about one, a way of logging none
SKIPPED = 0.5  # a share of the lost steps that somebody skipped, which explains them
BESIDE = ("lr", "grad_norm", "loss_scale")  # what has a value at every step that was trained


def examine(every: EverySeries, skipped: SkippedSteps | None) -> Iterator[Finding]:
    """Fire on a loss that is lost at steps that follow no beat."""
    loss = every.series.get("loss")
    if loss is None or len(loss) < LEAST_POINTS:
        raise InsufficientData("too few losses were logged to tell lost ones from a way of logging")
    lost = np.flatnonzero(is_bad(loss.values) & _was_trained(loss, every) & _is_on_beat(loss))
    share = len(lost) / len(loss)
    if len(lost) < FEWEST or not OFTEN < share < MOST or not _is_uneven(lost, len(loss)):
        return
    if skipped is not None and float(np.isin(loss.steps[lost], skipped.steps).mean()) > SKIPPED:
        return
    first, last = int(loss.steps[lost[0]]), int(loss.steps[lost[-1]])
    yield Finding(
        loss.where(first, last),
        f"{loss.name} is no number at {len(lost):,} of {len(loss):,} logged steps, at uneven distances "
        f"between step {first:,} and {last:,}, and is one again after each: such batches are never learned",
        {"count": len(lost), "share": share},
        onset=first,
    )


def _was_trained(loss: Series, every: EverySeries) -> npt.NDArray[np.bool_]:
    """The steps of the loss at which another value is a number, and which are not those of an evaluation."""
    beside = [_steps_with_a_number(every.series[name]) for name in BESIDE if name in every.series]
    evaluated = [one.steps for name, one in every.series.items() if name.startswith("val/")]
    trained = np.isin(loss.steps, np.concatenate(beside)) if beside else np.zeros(len(loss), dtype=np.bool_)
    # A row of an evaluation has no training loss, nor has any row where all of them are on such steps.
    apart = [steps for steps in evaluated if not np.isin(steps, loss.finite().steps).any()]
    return trained & ~np.isin(loss.steps, np.concatenate(apart)) if apart else trained


def _steps_with_a_number(series: Series) -> Steps:
    return series.steps[~is_bad(series.values)]


def _is_on_beat(loss: Series) -> npt.NDArray[np.bool_]:
    """The steps that lie as many intervals from the first number as every other."""
    good = loss.steps[~is_bad(loss.values)]
    if len(good) < 2:
        return np.zeros(len(loss), dtype=np.bool_)
    beat = int(np.gcd.reduce(np.diff(good)))
    return np.asarray((loss.steps - good[0]) % max(beat, 1) == 0, dtype=np.bool_)


def _is_uneven(lost: npt.NDArray[np.int64], count: int) -> bool:
    """Whether the lost steps, and the kept ones as well, come at distances that differ."""
    kept = np.setdiff1d(np.arange(count), lost)
    return all(_spread(np.diff(at)) > UNEVEN for at in (lost, kept))


def _spread(distances: npt.NDArray[np.int64]) -> float:
    return float(distances.std() / distances.mean()) if len(distances) else 0.0
