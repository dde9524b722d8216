"""How many samples stand behind each training step, as the logged shares of right answers betray it."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.detectors.counted import samples
from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "train/accuracy": (answer == label).float().mean().item()})'


@dataclass(frozen=True, slots=True, eq=False)
class SamplesPerStep:
    """The shares in whose steps the number shows, and that number for one optimiser step."""

    series: Series
    count: float


def measure(run: Run) -> SamplesPerStep | Missing:
    """Read the number from the steps in which a share of right answers moves."""
    right = run.series.get("train/accuracy")
    if right is None or len(right.finite()) == 0:
        return Missing("no share of right answers in training was logged", LOG_THIS)
    values = right.finite().values
    percent = 100.0 if float(values.max()) > 1.0 else 1.0
    counted = samples(values / percent)
    if counted is None:
        return Missing("the shares of right answers in training move in no steps", LOG_THIS)
    # A share may be that of all batches since the line before.
    return SamplesPerStep(right, counted / max(1, right.cadence()))
