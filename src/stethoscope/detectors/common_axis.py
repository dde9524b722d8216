"""Steps of one series, counted as another series counts them."""

from __future__ import annotations

import numpy as np

from stethoscope.run import Series, Steps


def on_axis_of(series: Series, other: Series) -> Steps:
    """The steps of `series` on the axis of `other`; epochs are spread evenly over the steps of the run."""
    if series.axis == other.axis or len(other) == 0 or len(series) == 0:
        return series.steps
    span = max(1, int(series.steps[-1] - series.steps[0]))
    passed = (series.steps - series.steps[0]) / span
    first, last = int(other.steps[0]), int(other.steps[-1])
    return np.asarray(np.rint(first + passed * (last - first)), dtype=np.int64)
