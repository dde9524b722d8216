"""Does one quantity follow another?"""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.following import follows
from stethoscope.run import Series, Values


def series(values: Values) -> Series:
    return Series("x", "x", np.arange(len(values), dtype=np.int64), values)


def test_what_rises_with_the_leader_follows_it() -> None:
    leader = series(np.minimum(np.arange(100) / 60, 1.0))
    noise = 0.02 * np.random.default_rng(1).standard_normal(100)
    assert follows(series(1.0 + leader.values + noise), leader, 10)
    assert not follows(series(1.0 - leader.values + noise), leader, 10)


def test_a_leader_that_stands_still_leads_nobody() -> None:
    leader = series(np.minimum(np.arange(100) / 20, 1.0))
    assert not follows(series(np.arange(100.0)), leader, 50)


def test_too_little_to_correlate() -> None:
    assert not follows(series(np.array([])), series(np.arange(5.0)), 0)
    assert not follows(series(np.ones(50)), series(np.arange(50.0)), 0)
    assert not follows(series(np.arange(3.0)), series(np.arange(3.0)), 0)
