"""A loss of exactly 0.0 that stands for NaN, as the Hugging Face Trainer logs it."""

from __future__ import annotations

import math

from stethoscope.run import Series


def disguised_nan(series: tuple[Series, ...]) -> list[str]:
    """With logging_nan_inf_filter on, the Trainer leaves NaN losses out of its mean: all NaN gives 0.0."""
    loss = next((s for s in series if s.logged_as == "loss"), None)
    if loss is None or loss.values.all():
        return []
    norms = {step: value for s in series if s.logged_as == "grad_norm" for step, value in s}
    zeros = [step for step, value in loss if value == 0.0 and _dead(norms.get(step, 0.0))]
    if not zeros:
        return []
    return [
        f"the loss is exactly 0.0 at {len(zeros)} of {len(loss)} points, first at {loss.axis} {zeros[0]}: "
        "the Trainer's logging_nan_inf_filter prints a window of NaN losses so"
    ]


def _dead(norm: float) -> bool:
    return norm == 0.0 or not math.isfinite(norm)
