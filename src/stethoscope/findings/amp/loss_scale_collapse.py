"""The loss scale keeps falling: overflows come faster than growth can repair.

## What it checks
The path of the GradScaler's scale, not its level. Each fall is a skipped step. The rule fires when the
scale has been falling up to the end of the log and either overflows come more often than growth can
balance (above one in 2,886 steps at a growth interval of 2,000), or the scale has come down a staircase on
which a smaller scale did not make the next overflow less likely. It also fires when the scale ends below 1
and still falls: then gradients overflow without being scaled up at all.

## Why it matters
Every halving is an optimiser step thrown away. Where the overflow is in the forward pass, or the data hold
a NaN, no scale is small enough: the scale falls to zero, and from then on no step is taken.

## When it is harmless
A scaler that starts too high finds its level by halving a few times in the first steps. A sawtooth of
doublings and halvings is a scaler in balance. A fall that came to rest has ended. A *high* scale is the
opposite of this problem.

## References
- `torch.amp.GradScaler`
- With overflow rate p and growth interval G the scale drifts by p / ((1 - p)**-G - 1) - p octaves a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.detectors.scaler import Decline, chance_supercritical, decline, steps_until_below_one
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="AMP101", since="0.1", severity=Severity.CRITICAL)


def examine(scale: LossScale) -> Iterator[Finding]:
    """Fire when the scale is still falling at the end of the log."""
    path = scale.path
    fall = decline(path)
    if fall is None:
        return
    one_in = round(1.0 / fall.rate) if fall.rate else 0
    message = (
        f"the loss scale fell from {_level(fall.from_octave)} to {_level(fall.to_octave)} and "
        f"{'is held there' if fall.to_octave == 0 else 'still falls'}: "
        f"{fall.skips} overflows in {fall.last_step - fall.first_step:,} steps"
    )
    message += f", one in {one_in:,}; growth makes up for one in {round(1.0 / fall.critical_rate):,}"
    yield Finding(
        scale.series.where(fall.first_step, fall.last_step),
        message + _meaning(fall),
        _evidence(fall, path.growth_interval),
        strength=1.0 if fall.supercritical else 0.8,
        onset=fall.first_step,
    )


def _level(octave: int) -> str:
    return f"{2.0**octave:,.0f}" if 0 <= octave < 40 else f"2^{octave}"


def _meaning(fall: Decline) -> str:
    if fall.hazard is None:
        return ""
    if fall.hazard.rises_with_scale:
        return ". A smaller scale makes overflows rarer: gradients are growing"
    return ". A smaller scale does not make them rarer: the overflow is in the forward pass or in the data"


def _evidence(fall: Decline, growth_interval: int) -> dict[str, object]:
    left = steps_until_below_one(fall.to_octave, fall.rate, growth_interval)
    evidence: dict[str, object] = {
        "from_scale": 2.0**fall.from_octave,
        "to_scale": 2.0**fall.to_octave,
        "skips": fall.skips,
        "skip_rate": fall.rate,
        "skip_rate_low": fall.rate_low,
        "critical_rate": fall.critical_rate,
        "supercritical": fall.supercritical,
        "chance_supercritical": round(
            chance_supercritical(fall.skips, fall.last_step - fall.first_step, growth_interval), 4
        ),
        "growth_interval": growth_interval,
        "below_one": fall.to_octave < 0,
    }
    if 0.0 < left < math.inf:
        evidence["steps_until_below_one"] = round(left)
    if fall.hazard is not None:
        evidence["hazard_slope"] = round(fall.hazard.slope, 3)
        evidence["hazard_p"] = fall.hazard.p
        evidence["overflow_in"] = "backward" if fall.hazard.rises_with_scale else "forward"
    return evidence
