"""Is a spike over, or does it last? The aftermath as it can be told while it happens.

The same bar and the same number of values as in `aftermath`: a spike lasts where more than half of the values
that follow stand above the bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.detectors.aftermath import LEAST_RAISED, NEXT, RAISED
from stethoscope.detectors.spike import SpikeState, standard_deviation


class Course(StrEnum):
    """What can be said so far."""

    UNKNOWN = "unknown"
    OVER = "over"
    LASTS = "lasts"


@dataclass(frozen=True, slots=True)
class Watch:
    """What is held against the level before a spike: how many values followed, and the last of them.

    Level, bar and values are in the logarithm where the spike's state was. A value that stands more than
    `raised` deviations above the level has not come back.
    """

    logarithmic: bool
    level: float
    sd: float
    count: int = 0
    last: tuple[float, ...] = ()
    raised: float = RAISED

    @property
    def bar(self) -> float:
        """What stands above it has not come back."""
        least = math.log1p(LEAST_RAISED) if self.logarithmic else LEAST_RAISED * abs(self.level)
        return self.level + max(self.raised * self.sd, least)


def init(before: SpikeState, raised: float = RAISED) -> Watch:
    """Begin to watch at a spike; `before` is what had been learned before it."""
    return Watch(before.logarithmic, before.level, standard_deviation(before), raised=raised)


def update(watch: Watch, value: float) -> tuple[Watch, Course]:
    """Take the next value; one that is not finite says nothing."""
    if not math.isfinite(value):
        return watch, Course.UNKNOWN
    y = coordinate(watch, value)
    last = (*watch.last, y)[-NEXT:]
    watch = Watch(watch.logarithmic, watch.level, watch.sd, watch.count + 1, last, watch.raised)
    if watch.count < NEXT:
        return watch, Course.UNKNOWN
    bar = watch.bar
    raised = sum(one > bar for one in last)
    if 2 * raised > NEXT:
        return watch, Course.LASTS
    # Half of them are back: a spike that has once been found to last is over with a value that is.
    return watch, Course.UNKNOWN if y > bar and watch.count > NEXT else Course.OVER


def coordinate(watch: Watch, value: float) -> float:
    """Where a value stands on the scale of the watch."""
    return math.log(max(abs(value), 1e-300)) if watch.logarithmic else value
