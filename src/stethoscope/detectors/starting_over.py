"""Whether a curve leaps back to its beginning and goes its way a second time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Values

LEAST_POINTS = 40
AFTER = 3  # values whose median is the level behind a leap
BEFORE = 8  # values whose highest is the level that is left
LEARNED = 0.5  # of the first level is gone before the leap, at least
CLEAR = 0.75  # of the first level: what the highest value before the leap stays below
SAME = 0.15  # relative distance of the level behind the leap to the first level
AT_ONCE = 0.5  # of the way back is made from one value to the next
APART = 0.25  # of what was learned: the two ways down, at their widest
LEAST_WAY = 12  # values of the second way down
BLOCKS = 6  # parts of the way down that are compared
NOISES = 3.0  # of single values, in the logarithm, that what was learned exceeds
ALIKE = 0.2  # of a length: what folds may differ by
FALLS = 0.4  # of what was learned is learned again
LINES = 12  # of a short log that has both losses in each
FEWEST_BEFORE, FEWEST_BEHIND = 4, 3  # of them around the leap
LEARNED_IN_LINES = 0.15  # of the first value; what a line leaps by exceeds all that lines did before
MOST_OF_IT = (0.7, 1.6)  # of what was learned is lost at once, and not far more than that


@dataclass(frozen=True, slots=True)
class StartOver:
    """The index of the leap, the levels around it, the first level, and how far apart the two ways are."""

    at: int
    before: float
    after: float
    first: float
    apart: float


def starts_over(values: Values) -> StartOver | None:
    """The leap after which finite values go the way they went at the start; None where there is none.

    None too where they begin anew once more, after as many values: folds, one behind the other.
    """
    found = _starts_over(values)
    again = _starts_over(values[found.at :]) if found is not None else None
    is_fold = found is not None and again is not None and _is_as_long(again.at, found.at)
    return None if is_fold else found


def _starts_over(values: Values) -> StartOver | None:
    if len(values) < LEAST_POINTS:
        return None
    first = max(float(values[0]), float(np.median(values[:AFTER])))
    noise = noise_sd(np.log(values[values > 0.0])) if float(np.min(values)) > 0.0 else 0.0
    for at in _leaps(values, first):
        before = float(np.median(values[at - BEFORE : at]))
        # Among thousands of noisy values some stretch looks like the way down from any high one.
        if before > 0.0 and np.log(first / before) < NOISES * noise:
            continue
        after = float(np.median(values[at : at + AFTER]))
        apart = _apart(values, at, first - before)
        if apart is not None and apart <= APART:
            return StartOver(at, before, after, first, apart)
    return None


def _is_as_long(part: int, first: int) -> bool:
    return abs(part - first) <= ALIKE * first


def _leaps(values: Values, first: float) -> list[int]:
    """Where a value is back at the first level and those just before had left it far below."""
    if not first > 0.0:
        return []
    candidates = np.flatnonzero(np.abs(values - first) <= SAME * first)
    found = []
    for at in candidates[(candidates >= LEAST_WAY) & (candidates <= len(values) - LEAST_WAY)].tolist():
        left = values[at - BEFORE : at]
        after = float(np.median(values[at : at + AFTER]))
        low = float(np.median(left)) <= LEARNED * first and float(left.max()) <= CLEAR * first
        back = values[at] - values[at - 1] >= AT_ONCE * (first - values[at - 1])
        if low and back and after >= CLEAR * first:
            found.append(at)
    return found


def _apart(values: Values, at: int, learned: float) -> float | None:
    """The widest distance between the two ways down, as a share of what was learned.

    None where the second way does not go down far enough to be one.
    """
    length = min(at, len(values) - at)
    edges = np.unique(np.geomspace(1, length, BLOCKS + 1).astype(np.int64))
    ways = [
        np.array([np.median(values[start + a : start + b]) for a, b in pairwise(edges.tolist())])
        for start in (0, at)
    ]
    fall = float(values[at] - np.median(values[at + length - max(1, length // 5) : at + length]))
    if learned <= 0.0 or fall < FALLS * learned:
        return None
    return float(np.abs(ways[0] - ways[1]).max() / learned)


def starts_over_in_lines(*curves: Values) -> int | None:
    """The line at which all of some curves lose at once most of what they had learned, to learn it again."""
    at = _lost_in_lines(*curves)
    again = _lost_in_lines(*(values[at:] for values in curves)) if at is not None else None
    return None if at is not None and again is not None and _is_as_long(again, at) else at


def _lost_in_lines(*curves: Values) -> int | None:
    length = len(curves[0])
    if length < LINES:
        return None
    for at in range(FEWEST_BEFORE, length - FEWEST_BEHIND):
        if all(_is_lost_at(values, at) for values in curves):
            return at
    return None


def _is_lost_at(values: Values, at: int) -> bool:
    first, before = float(values[0]), float(np.median(values[max(1, at - 3) : at]))
    learned, leap = first - before, float(values[at] - values[at - 1])
    rose = float(np.diff(values[:at]).max())
    calm = learned >= LEARNED_IN_LINES * first > 0.0 and leap > 3.0 * max(rose, 0.0)
    lost = MOST_OF_IT[0] * learned <= float(values[at]) - before <= MOST_OF_IT[1] * learned
    again = float(values[at]) - float(values[at + 1 :].min()) >= FALLS * learned
    return calm and lost and again and float(values[at + 1]) < float(values[at])
