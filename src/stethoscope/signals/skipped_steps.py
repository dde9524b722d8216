"""The optimiser steps that a loss scaler, or Guard, skipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import EventKind, Run, Series, Steps
from stethoscope.run.flight_record import SUFFIX
from stethoscope.signals.missing import Missing

SCALER, GUARD, UNKNOWN = "scaler", "Guard", ""


@dataclass(frozen=True, slots=True, eq=False)
class SkippedSteps:
    """Steps at (or just before) which an update was skipped, as the log betrays them; may be empty.

    `source` says how they are known: "skipped", "loss_scale" or "messages"; `by` says who skipped them:
    "scaler", "Guard", or nothing where that is not known.
    """

    steps: Steps
    source: str
    by: str = SCALER


def measure(run: Run) -> SkippedSteps | Missing:
    """Read skips from a counter, from falls of the loss scale, or from overflow messages."""
    counter, scale = run.series.get("skipped"), run.series.get("loss_scale")
    if counter is not None and len(counter):
        return SkippedSteps(_counted(counter), "skipped", _by_whom(counter, run))
    if scale is not None and len(scale) and np.ptp(_finite(scale)) > 0.0:
        return SkippedSteps(_falls(scale), "loss_scale")
    said = [event.step for event in run.events if event.kind is EventKind.OVERFLOW]
    if said:
        return SkippedSteps(np.array([step for step in said if step is not None], dtype=np.int64), "messages")
    return Missing("no skipped steps were logged", 'log({"skipped": skipped_steps})')


def _counted(series: Series) -> Steps:
    """The steps at which a counter rises; a flag or a counter per window counts wherever it is not zero."""
    finite = series.finite()
    change = np.diff(finite.values)
    if _is_flag(finite) or np.any(change < 0.0):
        return finite.steps[finite.values > 0.0]
    return finite.steps[1:][change > 0.0]


def _is_flag(series: Series) -> bool:
    """Whether each step says for itself that it was skipped.

    DeepSpeed counts all skips so far and prints that every few steps: after the first skip it stays at one.
    """
    return series.cadence() <= 1 and bool(np.isin(series.values, (0.0, 1.0)).all())


def _by_whom(counter: Series, run: Run) -> str:
    """Who skipped the steps of a counter. Guard skips by itself where its own record has no loss scale."""
    if not counter.file.endswith(SUFFIX):
        return SCALER if "loss_scale" in run.series else UNKNOWN
    beside = {series.name for log in run.logs if log.file == counter.file for series in log.series}
    return SCALER if "loss_scale" in beside else GUARD


def _falls(series: Series) -> Steps:
    finite = series.finite()
    return finite.steps[1:][np.diff(finite.values) < 0.0]


def _finite(series: Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = series.finite().values
    return values if len(values) else np.zeros(1)
