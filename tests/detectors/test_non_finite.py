"""Bad values are counted exactly and their pattern is named."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.non_finite import Pattern, scan

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "pattern", "onset"),
    [
        ([], Pattern.NONE, None),
        ([1.0, 2.0], Pattern.NONE, None),
        ([NAN], Pattern.ALL, 0),
        ([1.0, NAN, NAN, NAN], Pattern.PERMANENT, 1),
        ([1.0, 2.0, 3.0, INF], Pattern.PERMANENT, 3),
        ([1.0, NAN, 3.0, 4.0], Pattern.SPORADIC, None),
        ([1.0, 2e30, -3e31], Pattern.PERMANENT, 1),
        ([1.0, NAN] * 50, Pattern.HOLES, 99),
        ([1.0, NAN, NAN, NAN, NAN] * 20, Pattern.HOLES, 96),
    ],
)
def test_the_pattern(values: list[float], pattern: Pattern, onset: int | None) -> None:
    seen = scan(np.array(values, dtype=np.float64))
    assert (seen.pattern, seen.onset) == (pattern, onset)


def test_counts_and_runs_are_exact() -> None:
    seen = scan(np.array([1.0, NAN, 2.0, INF, -INF, 1e31, 3.0]))
    assert (seen.count, seen.first, seen.longest, seen.huge) == (4, 1, 3, 1)
