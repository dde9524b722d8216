"""The test that most people would write first, for some of the questions that detectors ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from detector_study.curves import Rows

PHASES = 8  # parts that a period is cut into


@dataclass(frozen=True, slots=True)
class NaiveTest:
    """A textbook test: in words, the error rate that it promises, and what it says of one drawn thing.

    `nominal` is None where a test is used for what it makes no promise about.
    """

    detector: str
    words: str
    nominal: float | None
    says: Callable[[Any], bool]


def naive_tests() -> tuple[NaiveTest, ...]:
    """One for each question that has an obvious answer."""
    return (
        NaiveTest("trend", "the t-test of a fitted line", 0.01, lambda y: _slope_p(y) < 0.01),
        NaiveTest("peak", "Welch's t-test of the last quarter against the best one", 0.01, _declines),
        NaiveTest("rise", "Welch's t-test of the last tenth against the lowest one", 0.01, _rises),
        NaiveTest("swing", "Fisher's test of the largest peak of the periodogram", 0.001, _swings),
        NaiveTest("flatness", "a t-test that finds no slope", None, lambda y: _slope_p(y) >= 0.05),
        NaiveTest("phase folding", "an analysis of variance over the phases", 0.01, _repeats),
        NaiveTest("confounding", "the t-test of a fitted line", 0.001, _rises_in_time),
        # Of all series of 2,000 normal values, 6 % have one that does so.
        NaiveTest(
            "spike beyond its tail", "a value four standard deviations above the mean", 0.06, _stands_out
        ),
    )


def _slope_p(y: Rows) -> float:
    return float(stats.linregress(np.arange(len(y)), y).pvalue)


def _declines(y: Rows) -> bool:
    width = max(3, len(y) // 4)
    start = int(np.clip(np.argmax(y) - width // 2, 0, len(y) - 2 * width))
    return _above(y[start : start + width], y[-width:], 0.01)


def _rises(y: Rows) -> bool:
    width = max(3, len(y) // 10)
    means = np.convolve(y[:-width], np.ones(width) / width, mode="valid")
    start = int(np.argmin(means))
    return _above(y[-width:], y[start : start + width], 0.01)


def _above(higher: Rows, lower: Rows, level: float) -> bool:
    return bool(stats.ttest_ind(higher, lower, equal_var=False, alternative="greater").pvalue < level)


def _swings(y: Rows) -> bool:
    x = np.arange(len(y))
    power = np.abs(np.fft.rfft(y - np.polyval(np.polyfit(x, y, 1), x))[1:]) ** 2
    count = len(power)
    return bool(count * (1.0 - power.max() / power.sum()) ** (count - 1) < 0.001)


def _repeats(drawn: tuple[Rows, int]) -> bool:
    y, period = drawn
    x = np.arange(len(y))
    level = y - np.polyval(np.polyfit(x, y, 1), x)
    phase = x % period * PHASES // period
    return bool(stats.f_oneway(*(level[phase == one] for one in range(PHASES))).pvalue < 0.01)


def _rises_in_time(drawn: tuple[Rows, Rows]) -> bool:
    line = stats.linregress(np.arange(len(drawn[0])), drawn[0])
    return bool(line.slope > 0 and line.pvalue / 2 < 0.001)


def _stands_out(y: Rows) -> bool:
    return bool(np.any(y > y.mean() + 4.0 * y.std()))
