"""The live form of the aftermath agrees with the one over a whole log."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors import persistence, spike
from stethoscope.detectors.aftermath import NEXT, Grade, follow
from stethoscope.detectors.persistence import Course

from .curves import noise


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("length", [1, 2, 3, 12, 50, 500])
@pytest.mark.parametrize("seed", range(5))
def test_it_calls_lasting_what_the_aftermath_does(logarithmic: bool, length: int, seed: int) -> None:
    values = 3.0 * np.exp(0.02 * noise(1000, seed))
    values[400 : 400 + length] *= 2.0
    (found,) = follow(np.arange(1000), values, spike.scan(values, logarithmic))
    courses = _courses(values.tolist(), logarithmic)
    lasts = Course.LASTS in courses
    assert lasts == (found.until - found.at > NEXT)
    assert lasts or found.grade in (Grade.OUTLIER, Grade.RECOVERED)
    if found.steps_to_recover is not None and lasts:
        # It knows a few values later than the log does, which can look ahead.
        assert 0 <= courses.index(Course.OVER) + 1 - (found.until - found.at) <= NEXT


def _courses(values: list[float], logarithmic: bool) -> list[Course]:
    """What is said of each value behind the first spike."""
    state, watch, courses = spike.init(logarithmic), None, []
    for value in values:
        before = state
        state, high = spike.update(state, value)
        if watch is not None:
            watch, course = persistence.update(watch, value)
            courses.append(course)
        elif high:
            watch = persistence.init(before)
    return courses


def test_what_is_not_finite_says_nothing() -> None:
    state = spike.init(warm_up=2)
    for value in (1.0, 1.1, 0.9):
        state, _ = spike.update(state, value)
    watch = persistence.init(state)
    for value in (float("nan"), float("inf")):
        assert persistence.update(watch, value) == (watch, Course.UNKNOWN)


def test_the_bar_can_be_lower() -> None:
    state = spike.init(warm_up=2)
    for value in (1.0, 2.0, 1.0, 2.0):
        state, _ = spike.update(state, value)
    usual, low = persistence.init(state), persistence.init(state, raised=2.5)
    assert low.bar - low.level == pytest.approx((usual.bar - usual.level) * 2.5 / 4.0)
    assert persistence.update(low, 1.0)[0].raised == 2.5
