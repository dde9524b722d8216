"""Pieces of a series without a restart: it is cut where its steps fall back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stethoscope.logs.retelling import Mask
from stethoscope.run import Series

FEWEST_LAPS = 3  # equal rounds of a counter before it is called periodic


def laps_of(series: Series) -> list[Series]:
    """The series cut where its steps fall back; counters that begin again every epoch count rows instead."""
    laps = cut_at_falls(series)
    if _periodic(laps):
        return [replace(series, steps=np.arange(len(series), dtype=np.int64), axis="row")]
    return [last_of_each_step(lap) for lap in laps]


def falls(series: Series) -> Mask:
    """Behind which points the steps fall back."""
    return np.diff(series.steps) < 0


def cut_at_falls(series: Series) -> list[Series]:
    """The series cut where its steps fall back."""
    again = np.flatnonzero(falls(series)) + 1
    return [series.select(slice(a, b)) for a, b in zip([0, *again], [*again, None], strict=True)]


def _periodic(laps: list[Series]) -> bool:
    """Whether the counter begins again and again, as rounds of an epoch do and restarts do not."""
    return len(laps) > FEWEST_LAPS and cover_the_same(laps)


def cover_the_same(laps: list[Series]) -> bool:
    """Whether all laps but the last cover the same steps, and the last one begins where they do."""
    whole = laps[:-1]
    first, last = int(whole[0].steps[0]), int(whole[0].steps[-1])
    slack = max(whole[0].cadence(), 1)
    return (
        all(
            abs(int(lap.steps[0]) - first) <= slack and abs(int(lap.steps[-1]) - last) <= slack
            for lap in whole
        )
        and abs(int(laps[-1].steps[0]) - first) <= slack
    )


def last_of_each_step(series: Series) -> Series:
    """The series without the earlier of several values that stand together at one step."""
    repeated = np.append(np.diff(series.steps) == 0, False)
    return series.select(~repeated) if repeated.any() else series
