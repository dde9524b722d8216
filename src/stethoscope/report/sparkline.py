"""A curve in the height of one line."""

from __future__ import annotations

import numpy as np

from stethoscope.report.plot import LOG_FROM
from stethoscope.run import Series, Values

BLOCKS = "▁▂▃▄▅▆▇█"
NOT_FINITE = "x"
FEWEST_POINTS = 3  # fewer make no curve


def sparkline(series: Series, width: int) -> str:
    """The medians of as many stretches of a series; "x" where none of a stretch's values is finite."""
    if len(series) < FEWEST_POINTS:
        return ""
    if len(series) <= width:
        return "".join(_levels(series.values))
    return "".join(_levels(np.array([_median(part) for part in np.array_split(series.values, width)])))


def _median(part: Values) -> float:
    finite = part[np.isfinite(part)]
    return float(np.median(finite / 2) * 2) if len(finite) else np.nan  # halved: two may sum to infinity


def _levels(medians: Values) -> list[str]:
    drawn = medians[np.isfinite(medians)]
    if not len(drawn):
        return [NOT_FINITE] * len(medians)
    if drawn.min() > 0 and drawn.max() / LOG_FROM >= drawn.min():
        medians, drawn = np.log(medians), np.log(drawn)
    low, high = float(drawn.min()) / 2, float(drawn.max()) / 2
    middle = len(BLOCKS) // 2 - 1
    return [
        NOT_FINITE
        if not np.isfinite(value)
        else BLOCKS[round((value / 2 - low) / (high - low) * (len(BLOCKS) - 1)) if high > low else middle]
        for value in medians.tolist()
    ]
