"""A story: what one log tells, or several that tell the same, and over which steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Log, Series

Bounds = tuple[int, int]

ALIKE = 1.2  # quotients of first steps, last steps and spans, where one log counts a multiple of the other
TWICE = 1.8  # with something left over at the ends
# What only a program that trains can tell.
OF_TRAINING = ("loss", "train/", "grad_norm", "lr", "loss_scale")


@dataclass(slots=True)
class Story:
    """What one log tells, or several that tell the same."""

    series: dict[str, Series]
    logs: list[Log]
    bounds: Bounds
    recounted: bool = False


def bounds_of(told: Mapping[str, Series]) -> Bounds:
    """The first and last step of any of these series."""
    ends = [(int(series.steps.min()), int(series.steps.max())) for series in told.values()]
    return min((first for first, _ in ends), default=0), max((last for _, last in ends), default=0)


def may_tell_the_same(one: Bounds, other: Bounds) -> bool:
    """Whether two ranges of steps overlap, or one is a multiple of the other: samples and steps."""
    if one[0] <= other[1] and other[0] <= one[1]:
        return True
    if min(*one, *other) <= 0:
        return False
    spans = (one[1] - one[0] + 1) / (other[1] - other[0] + 1)
    low, _, high = sorted((one[0] / other[0], one[1] / other[1], spans))
    return high <= ALIKE * low and (low >= TWICE or high <= 1 / TWICE)


def is_of_training(name: str) -> bool:
    """Whether a signal is measured by training, and not on held-out data."""
    return name.startswith(OF_TRAINING)
