"""The loss scale goes up and down in balance, as it should.

## What it checks
The GradScaler doubles and halves its scale repeatedly and ends about where it was: at least three falls and
three doublings after the opening search, and no lasting fall.

## Why it matters
It does not. The skipped steps look alarming in a log ("overflow detected, skipping step"), so the rule says
how many there were and that this is the scaler probing for the largest safe scale.

## When it is harmless
Always: the scaler doubles its scale until a gradient overflows, skips that step and halves. A healthy run
skips about one step in two growth intervals this way.

## References
- `torch.amp.GradScaler`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.scaler import after_search, decline, hazard, in_balance
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="AMP201", since="0.1", severity=Severity.NOTE)

LEAST_TEETH = 3


def examine(scale: LossScale) -> Iterator[Finding]:
    """Note a scale in balance."""
    whole = scale.path
    path = after_search(whole)
    if path.skips < LEAST_TEETH or path.growths < LEAST_TEETH or decline(whole) is not None:
        return
    low, high = int(path.octaves.min()), int(path.octaves.max())
    rate = path.skips / max(1, path.length)
    slope = hazard(path)
    yield Finding(
        scale.series.where(int(path.steps[0]), int(path.steps[-1])),
        f"the loss scale moves between 2^{low} and 2^{high} with {path.skips} skipped steps in "
        f"{path.length:,} ({rate:.2%}): the scaler probes for the largest safe scale",
        {
            "skips": path.skips,
            "growths": path.growths,
            "skip_rate": rate,
            "growth_interval": path.growth_interval,
            "in_balance": in_balance(path),
            "lowest_scale": 2.0**low,
            "highest_scale": 2.0**high,
            "hazard_slope": round(slope.slope, 3) if slope else 0.0,
            "hazard_p": slope.p if slope else 1.0,
            "overflow_in": "backward" if slope and slope.rises_with_scale else "unknown",
        },
    )
