"""What the axes of a chart span, and the points that its lines go through."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures.axis import Axis, fitted
from stethoscope.figures.chart import Chart, Line, Numbers


def axes_of(chart: Chart) -> tuple[Axis, Axis]:
    """The two axes that show all of the chart, or what its limits leave."""
    x = fitted(_x_values(chart), chart.log_x, chart.x_limits, padded=_has_dots(chart))
    return x, fitted(heights(chart), chart.log_y, chart.y_limits)


def stepped(line: Line) -> tuple[Numbers, Numbers]:
    """The points of a line that holds every value until the next place."""
    return np.repeat(line.x, 2)[1:], np.repeat(line.y, 2)[:-1]


def heights(chart: Chart) -> list[Numbers]:
    """Every height that lies within the limits of the other axis."""
    found = []
    for drawn in chart.lines:
        found.append(drawn.y[_within(drawn.x, chart)])
    for band in chart.bands:
        found += [band.low[_within(band.x, chart)], band.high[_within(band.x, chart)]]
    return [*found, np.array([level.y for level in chart.levels], dtype=np.float64)]


def _x_values(chart: Chart) -> list[Numbers]:
    marks = np.array([mark.x for mark in chart.marks], dtype=np.float64)
    return [*(line.x for line in chart.lines), *(band.x for band in chart.bands), marks]


def _within(x: Numbers, chart: Chart) -> NDArray[np.bool_]:
    low, high = chart.x_limits
    inside = np.isfinite(x) & ((x > 0) | (not chart.log_x))
    inside &= x >= low if low is not None else True
    inside &= x <= high if high is not None else True
    return inside


def _has_dots(chart: Chart) -> bool:
    return any(line.style == "dots" for line in chart.lines)
