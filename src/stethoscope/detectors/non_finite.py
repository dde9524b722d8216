"""Where a series stops being a number: the first bad value, how many, and in what pattern."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.run import Values

BLOWN_UP = 1e30  # a finite value beyond this is on its way to infinity
HOLES = 0.05  # a share of bad values above this, mixed in from the start, is a way of logging
TAIL = 8  # this many bad values to the end, after good ones, is the end


class Pattern(StrEnum):
    """How bad values lie among the good ones."""

    NONE = "none"
    SPORADIC = "sporadic"
    PERMANENT = "permanent"
    HOLES = "holes"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The bad values of a series. `first` and `onset` are indices: the first bad value ever, and the
    first one after which no good value follows (None unless the pattern is permanent or all).
    """

    pattern: Pattern
    count: int
    first: int | None
    onset: int | None
    longest: int
    huge: int


def scan(values: Values) -> NonFinite:
    """Judge a whole series."""
    bad = is_bad(values)
    count = int(np.count_nonzero(bad))
    if count == 0:
        return NonFinite(Pattern.NONE, 0, None, None, 0, 0)
    first = int(np.argmax(bad))
    good = np.flatnonzero(~bad)
    onset = int(good[-1]) + 1 if len(good) else 0
    return NonFinite(
        _pattern(bad, good, onset),
        count,
        first,
        onset if onset < len(bad) else None,
        _longest_run(bad),
        int(np.count_nonzero(np.isfinite(values) & bad)),
    )


def is_bad(values: Values) -> npt.NDArray[np.bool_]:
    """Which values are not numbers, infinite, or so large that they soon will be."""
    # abs(nan) > x is False, so a NaN is caught by the negation and not by the comparison.
    return ~(np.abs(values) <= BLOWN_UP)


def _pattern(bad: npt.NDArray[np.bool_], good: npt.NDArray[np.int64], onset: int) -> Pattern:
    if len(good) == 0:
        return Pattern.ALL
    # A series that goes bad for good has numbers first and none at the end; sparse logs have both throughout.
    before = bad[:onset]
    tail = len(bad) - onset
    share_before = float(before.mean()) if onset else 0.0
    usual_gap = _longest_run(before)
    if tail >= max(TAIL, 3 * usual_gap) or (tail > 3 * usual_gap and share_before < HOLES):
        return Pattern.PERMANENT
    if share_before > HOLES and _mixed_throughout(before):
        return Pattern.HOLES
    return Pattern.SPORADIC


def _mixed_throughout(bad: npt.NDArray[np.bool_]) -> bool:
    """Whether bad values stand among the good ones in every quarter, beginning with the first."""
    quarters = np.array_split(bad, 4)
    return all(quarter.any() and not quarter.all() for quarter in quarters if len(quarter))


def _longest_run(bad: npt.NDArray[np.bool_]) -> int:
    if not bad.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], bad.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max())
