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

Indices = npt.NDArray[np.int64]


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
    at = np.flatnonzero(is_bad(values))
    if len(at) == 0:
        return NonFinite(Pattern.NONE, 0, None, None, 0, 0)
    runs = _runs(at)
    # The bad values that nothing good follows are the last run, where it ends with the series.
    tail = int(runs[-1]) if at[-1] == len(values) - 1 else 0
    onset = len(values) - tail
    return NonFinite(
        _pattern(at[: len(at) - tail], onset, tail, len(values)),
        len(at),
        int(at[0]),
        onset if tail else None,
        int(runs.max()),
        int(np.count_nonzero(np.isfinite(values[at]))),
    )


def is_bad(values: Values) -> npt.NDArray[np.bool_]:
    """Which values are not numbers, infinite, or so large that they soon will be."""
    # abs(nan) > x is False, so a NaN is caught by the negation and not by the comparison.
    return ~(np.abs(values) <= BLOWN_UP)


def _pattern(before: Indices, onset: int, tail: int, count: int) -> Pattern:
    """How the bad values lie: `before` among the good ones, and a tail of them from `onset` on."""
    if tail == count:
        return Pattern.ALL
    # A series that goes bad for good has numbers first and none at the end; sparse logs have both throughout.
    share_before = len(before) / onset
    usual_gap = int(_runs(before).max(initial=0))
    if tail >= max(TAIL, 3 * usual_gap) or (tail > 3 * usual_gap and share_before < HOLES):
        return Pattern.PERMANENT
    if share_before > HOLES and _mixed_throughout(before, onset):
        return Pattern.HOLES
    return Pattern.SPORADIC


def _mixed_throughout(bad: Indices, count: int) -> bool:
    """Whether bad values stand among the good ones in every quarter, beginning with the first."""
    quarters = [len(quarter) for quarter in np.array_split(np.empty(count, dtype=np.bool_), 4)]
    ends = np.cumsum(quarters)
    inside = np.diff(np.searchsorted(bad, ends), prepend=0)
    return all(0 < held < length for held, length in zip(inside.tolist(), quarters, strict=True) if length)


def _runs(bad: Indices) -> Indices:
    """The lengths of the runs of consecutive indices."""
    if len(bad) == 0:
        return bad
    starts = np.flatnonzero(np.diff(bad, prepend=-2) > 1)
    return np.diff(starts, append=len(bad))
