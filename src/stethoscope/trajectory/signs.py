"""Warning signs: plain rules that need no forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.scaler import decline
from stethoscope.run import Run, Series
from stethoscope.signals import loss_scale
from stethoscope.signals.missing import Missing
from stethoscope.trajectory.trajectory import Condition, WarningSign

SEVERAL = 3  # values in a row that make a stretch; one is an accident
FEW = 10  # values of a series of which two in a row are a stretch


@dataclass(frozen=True, slots=True)
class Seen:
    """A stretch in which a warning sign showed."""

    first: int
    last: int
    points: int
    value: float
    to_the_end: bool


def look_for(sign: WarningSign, run: Run, series: Series) -> Seen | None:
    """The first stretch in which the sign shows; None where it does not."""
    if sign.when is Condition.FALLING:
        return _falling(run)
    kept = series.select(series.steps >= sign.first)
    for first, last in _stretches(sign.meets(kept.values)):
        to_the_end = last == len(kept) - 1
        if _lasts(sign, kept, first, last, to_the_end):
            steps = int(kept.steps[first]), int(kept.steps[last])
            return Seen(*steps, last - first + 1, float(kept.values[last]), to_the_end)
    return None


def _lasts(sign: WarningSign, series: Series, first: int, last: int, to_the_end: bool) -> bool:
    points, span = last - first + 1, int(series.steps[last] - series.steps[first])
    if sign.when is Condition.NOT_FINITE and to_the_end and points >= 2:
        return True  # numbers that never come back need not be counted
    return points >= (SEVERAL if len(series) >= FEW else 2) and span >= sign.lasts


def _stretches(met: np.ndarray) -> list[tuple[int, int]]:
    """The first and last position of every uninterrupted stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    return [(int(first), int(end) - 1) for first, end in edges.reshape(-1, 2)]


def _falling(run: Run) -> Seen | None:
    scale = loss_scale.measure(run)
    if isinstance(scale, Missing):
        return None
    fall = decline(scale.path)
    if fall is None:
        return None
    return Seen(fall.first_step, fall.last_step, fall.skips, 2.0**fall.to_octave, True)
