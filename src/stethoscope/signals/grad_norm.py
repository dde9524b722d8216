"""The norm of the gradients over the run."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"grad_norm": torch.nn.utils.get_total_norm(p.grad for p in model.parameters())})'


@dataclass(frozen=True, slots=True, eq=False)
class GradNorm:
    """The global gradient norm, as logged."""

    series: Series


def measure(run: Run) -> GradNorm | Missing:
    """Find the global norm, or the only part that was logged."""
    parts = [one for one in run.family("grad_norm").values() if len(one)]
    series = run.series.get("grad_norm") or (parts[0] if len(parts) == 1 else None)
    if series is None or len(series) == 0:
        return Missing("the gradient norm was not logged", LOG_THIS)
    return GradNorm(series)
