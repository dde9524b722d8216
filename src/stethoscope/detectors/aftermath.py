"""What a spike left behind: an outlier, a scar that healed, or a level that never came back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.spike import SpikeScan
from stethoscope.run import Steps, Values

NEXT = 8  # points after the spike whose median decides whether anything lasted
RAISED = 4.0  # deviations above the level that count as not recovered
LEAST_RAISED = 0.05  # and at least this share of the level
FIRST_LOOK = 1024  # points after a spike among which its end is looked for first
MOST = 64  # spikes to follow; a series with more of them is described well enough
QUICK_STEPS = 100
SLOW_STEPS = 2000


class Grade(IntEnum):
    """How a spike ended."""

    OUTLIER = 0
    RECOVERED = 1
    SLOW = 2
    LASTING = 3


@dataclass(frozen=True, slots=True)
class Aftermath:
    """One spike: index and step of its first value, its height over the level, and how it ended.

    `until` is the index at which the level was reached again, or the length of the series;
    `steps_to_recover` is None where it did not; `peak` and `before` are in units of the series.
    """

    at: int
    until: int
    step: int
    before: float
    peak: float
    grade: Grade
    steps_to_recover: int | None


def follow(steps: Steps, values: Values, scan: SpikeScan, unit: int = 1) -> list[Aftermath]:
    """Gather flagged points into spikes and see what became of each.

    `unit` is the number of optimiser steps in one step of the series, above 1 for a series of epochs.
    """
    found: list[Aftermath] = []
    flagged = np.flatnonzero(scan.spikes)
    at = 0
    while at < len(flagged) and len(found) < MOST:
        found.append(_one(steps, values, scan, int(flagged[at]), unit))
        at = int(np.searchsorted(flagged, found[-1].until))
    return found


def _one(steps: Steps, values: Values, scan: SpikeScan, start: int, unit: int) -> Aftermath:
    level, sd = float(scan.level[start]), float(scan.sd[start])
    least = np.log1p(LEAST_RAISED) if scan.logarithmic else LEAST_RAISED * abs(level)
    raised, back = _course(values[start:], scan.logarithmic, level + max(RAISED * sd, float(least)))
    length = len(raised) if back is None else max(1, back)
    finite = values[start : start + length]
    finite = finite[np.isfinite(finite)]
    took = None if back is None else int(steps[start + back] - steps[start])
    return Aftermath(
        start,
        start + length,
        int(steps[start]),
        float(np.exp(level)) if scan.logarithmic else level,
        float(finite.max()) if len(finite) else float("inf"),
        _grade(raised, back, None if took is None else took * unit),
        took,
    )


def _course(values: Values, logarithmic: bool, bar: float) -> tuple[npt.NDArray[np.bool_], int | None]:
    """Which values stand above the bar, as far as the recovery, and its offset.

    Most spikes are over soon: what follows is looked at in stretches, each twice as long as the last.
    """
    width = FIRST_LOOK
    while True:
        raised = _coordinates(values[:width], logarithmic) > bar
        back = _recovery(raised)
        whole = width >= len(values)
        # The last offsets of a stretch see fewer values after them than there are.
        if whole or (back is not None and back + NEXT <= width):
            return raised, back
        width *= 2


def _recovery(raised: npt.NDArray[np.bool_]) -> int | None:
    """The first offset from which a majority of the next points is back at the level."""
    total = np.cumsum(np.insert(raised.astype(np.int64), 0, 0))
    upto = np.minimum(np.arange(len(raised)) + NEXT, len(raised))
    share = (total[upto] - total[:-1]) / (upto - np.arange(len(raised)))
    back = np.flatnonzero((share <= 0.5) & ~raised)
    return int(back[0]) if len(back) else None


def _grade(raised: npt.NDArray[np.bool_], end: int | None, took: int | None) -> Grade:
    if end is None:
        # Too little is left of the log to say that it lasts.
        return Grade.LASTING if len(raised) > NEXT else Grade.RECOVERED
    if end <= 1:
        return Grade.OUTLIER
    if end < NEXT or took is None or took <= QUICK_STEPS:
        return Grade.RECOVERED
    return Grade.SLOW if took <= SLOW_STEPS else Grade.LASTING


def _coordinates(values: Values, logarithmic: bool) -> Values:
    filled = np.where(np.isfinite(values), values, 1e300)
    return np.log(np.maximum(np.abs(filled), 1e-300)) if logarithmic else filled
