"""The loss scale is high or still growing, which is good news.

## What it checks
The GradScaler's scale ends above the value it usually starts from (65,536), or has grown, and is not
falling.

## Why it matters
It is often read as a sign of explosion. It is the opposite: the scale is the factor by which gradients are
multiplied so that small ones survive in half precision. It grows when nothing overflows. At 2^21 the
largest half-precision gradient of the model is about 65,504 / 2^21 = 0.03.

## When it is harmless
Nearly always. One thing is worth a look: a scale that grows because there are no gradients at all (a loss
of exactly zero, detached tensors). The rule says so when the log shows it.

## References
- `torch.amp.GradScaler`: starts at 65,536, doubles after 2,000 clean steps, halves after an overflow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.scaler import TORCH_INITIAL_SCALE, ScalerPath, decline, largest_gradient
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.loss_scale import LossScale

RULE = Rule(code="AMP202", since="0.1", severity=Severity.NOTE)

VANISHED = 1e-6  # gradients so much smaller than they once were


def examine(scale: LossScale, loss: TrainLoss | None, grads: GradNorm | None) -> Iterator[Finding]:
    """Note a high or growing scale and say what it implies."""
    path = scale.path
    if len(path.octaves) < 2:
        return
    high = 2.0 ** path.octaves[-1] > TORCH_INITIAL_SCALE
    grown = path.octaves[-1] > path.octaves[0]
    if not (high or grown) or decline(path) is not None:
        return
    vanish = _vanish(loss.series if loss else None, grads.series if grads else None)
    yield Finding(
        scale.series.where(),
        _message(path, vanish),
        _evidence(path, vanish),
        severity=Severity.WARNING if vanish else None,
    )


def _message(path: ScalerPath, vanish: bool) -> str:
    octave = int(path.octaves[-1])
    level = f"the loss scale ends at {2.0**octave:,.0f} (2^{octave})" if octave < 64 else f"2^{octave}"
    if vanish:
        return f"{level} and grew because gradients are zero: nothing can overflow where nothing flows"
    return (
        f"{level}, which is healthy: it grows when nothing overflows, and means that the largest "
        f"half-precision gradient is about {largest_gradient(octave):.2g}"
    )


def _evidence(path: ScalerPath, vanish: bool) -> dict[str, object]:
    first, last = int(path.octaves[0]), int(path.octaves[-1])
    return {
        "scale": 2.0**last,
        "first_scale": 2.0**first,
        "doublings_possible": path.length // path.growth_interval,
        "doublings_net": last - first,
        "skips": path.skips,
        "growth_interval": path.growth_interval,
        "largest_gradient": largest_gradient(last),
        "gradients_vanish": vanish,
    }


def _vanish(loss: Series | None, grads: Series | None) -> bool:
    """Whether the log shows a loss of exactly zero, or gradients that died."""
    if loss is not None and len(late := _late(loss)) and not late.any():
        return True
    if grads is None or len(late := _late(grads)) == 0:
        return False
    # A column of zeros from the start is a logger without gradient norms, not a model without gradients.
    values = grads.finite().values
    usual = float(np.median(np.abs(values[: max(1, len(values) // 4)])))
    return usual > 0.0 and float(np.median(np.abs(late))) <= VANISHED * usual


def _late(series: Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = series.finite().values
    return values[-max(1, len(values) // 4) :] if len(values) else values
