"""The trace is bounded, keeps the first and the last values, and thins out evenly."""

from __future__ import annotations

import numpy as np

from stethoscope.guard.judges import trace
from stethoscope.guard.judges.trace import BLOCK, FINEST, FIRST, Trace


def traced(count: int) -> Trace:
    """A trace of the values 0, 1, 2 ... at the clocks 0, 1, 2 ..."""
    kept = Trace()
    for start in range(0, count, BLOCK):
        kept = trace.add(kept, tuple((at, float(at)) for at in range(start, start + BLOCK)), {})
    return kept


def test_it_stays_small_and_keeps_both_ends() -> None:
    clocks, values = trace.series(traced(200_000 // BLOCK * BLOCK))
    assert len(clocks) < 1500
    assert clocks[:FIRST].tolist() == list(range(FIRST))
    assert clocks[-FINEST:].tolist() == list(range(int(clocks[-1]) - FINEST + 1, int(clocks[-1]) + 1))
    assert np.array_equal(clocks, values)


def test_clocks_rise_and_gaps_grow_with_age() -> None:
    clocks, _ = trace.series(traced(64_000))
    gaps = np.diff(clocks)
    assert np.all(gaps > 0)
    ages = clocks[-1] - clocks[FIRST + 1 : -1]
    assert np.all(gaps[FIRST + 1 :] <= np.maximum(1, ages // 8))


def test_what_came_later_can_be_forgotten() -> None:
    clocks, _ = trace.series(trace.until(traced(3200), 3000))
    assert clocks[-1] == 2999
    assert len(trace.until(traced(64), 0).medians) == 0


def test_the_part_that_rose_most_is_found_among_finite_ones() -> None:
    block = tuple((at, 1.0) for at in range(BLOCK))
    kept = trace.add(Trace(), block, {"loss": 3.0, "loss/a": 1.0, "loss/b": 2.0, "loss/c": float("nan")})
    assert trace.risen_part(kept, {"loss/a": 5.0, "loss/b": 3.0}) == ("loss/a", 1.0, 5.0)
    assert trace.risen_part(kept, {"loss/a": float("inf"), "loss/b": 3.0}) is None
    assert trace.risen_part(Trace(), {"loss/a": 5.0}) is None
