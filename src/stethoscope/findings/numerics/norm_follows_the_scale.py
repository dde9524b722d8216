"""The logged gradient norm carries the loss scale.

## What it checks
A gradient norm beside a loss scale of 1,024 or more: whether the norm is of the size of the scale, a tenth of
it at least, and a thousand times the loss. Where the scale changes, the norm must leap with it.

## Why it matters
The norm was taken before the gradients were divided by the scale. If it is what gradients are clipped by, the
limit is thousands of times smaller than meant: every step is cut to a length that the limit and the scale
decide. If it is only logged, it says nothing about the gradients.

## When it is harmless
Where nothing is clipped. A loss that is summed up has large gradients, and is large itself; such a run is
left alone, and so is one whose norm does not care about the changes of the scale.

## References
- PyTorch, Automatic Mixed Precision examples: gradient clipping, `scaler.unscale_`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="NUM244", since="0.5", severity=Severity.WARNING)

FEWEST = 12
LARGE = 1024.0  # a scale
OF_THE_SCALE = 0.1  # of it, at least, is a norm that was not divided
TIMES_THE_LOSS = 1000.0  # a mean loss has no gradients so large
AROUND = 3  # norms before and behind a change
ENOUGH_CHANGES = 4
LEAPS = 0.25  # octaves of the norm for one of the scale, at least


def examine(norm: GradNorm, scale: LossScale, loss: TrainLoss) -> Iterator[Finding]:
    """Fire where the norm is of the size of the scale and goes with it."""
    norms, scales = norm.series.finite(), scale.series.finite()
    if len(norms) < FEWEST or len(scales) < FEWEST or norms.axis != scales.axis:
        raise InsufficientData("too few gradient norms stand beside a loss scale")
    at = np.searchsorted(scales.steps, norms.steps, side="right") - 1
    kept = (at >= 0) & (norms.values > 0.0)
    values, beside = norms.values[kept], scales.values[at[kept]]
    if len(values) < FEWEST or float(beside.min()) < LARGE:
        return
    middle, of_scale = float(np.median(values)), float(np.median(values / beside))
    typical = float(np.median(np.abs(loss.series.finite().values)))
    if of_scale < OF_THE_SCALE or middle < TIMES_THE_LOSS * typical:
        return
    leaps = _leaps(values, beside)
    if len(leaps) >= ENOUGH_CHANGES and float(np.median(leaps)) < LEAPS:
        return
    yield Finding(
        (norms.where(), scales.where()),
        f"{norms.name} is {middle:.3g} in the middle, {of_scale:.2g} times {scales.name}, "
        f"beside losses of {typical:.3g}: it was taken before the gradients were divided by the scale",
        {"norm": middle, "of_scale": of_scale, "changes": len(leaps)},
        onset=int(norms.steps[0]),
    )


def _leaps(values: Values, scales: Values) -> list[float]:
    """The octaves by which the norm leaps at each change of the scale, for one octave of the scale."""
    logs, octaves = np.log2(values), np.log2(scales)
    changes = np.flatnonzero(np.abs(np.diff(octaves)) >= 0.5) + 1
    return [
        float(np.median(logs[at : at + AROUND]) - np.median(logs[at - AROUND : at]))
        / float(octaves[at] - octaves[at - 1])
        for at in changes.tolist()
        if AROUND <= at <= len(logs) - AROUND and _is_a_step(octaves[at - AROUND : at + AROUND])
    ]


def _is_a_step(octaves: Values) -> bool:
    """Whether a stretch of scales changes once, in its middle."""
    half = len(octaves) // 2
    return float(np.ptp(octaves[:half])) == 0.0 and float(np.ptp(octaves[half:])) == 0.0
