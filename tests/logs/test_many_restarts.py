"""A log that begins again thousands of times is joined like one that begins again once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.logs.splice import splice
from stethoscope.run import Log, Series


def log(steps: list[int]) -> Log:
    values = np.arange(len(steps), dtype=np.float64)
    return Log("train.log", "text", (Series("loss", "loss", np.array(steps, dtype=np.int64), values),))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), min_size=1, max_size=6))
def test_what_is_left_of_a_step_is_what_was_trained_last(stretches: list[tuple[int, int]]) -> None:
    steps = [step for first, length in stretches for step in range(first, first + length)]
    joined = splice([log(steps)])
    series = joined.series["loss"]
    if series.axis != "step":
        return  # equal stretches are rounds of a counter
    written = {step: at for at, step in enumerate(steps)}
    assert np.all(np.diff(series.steps) > 0)
    assert [written[step] for step in series.steps.tolist()] == series.values.tolist()
    assert len(series) + sum(len(one) for one in joined.abandoned) >= len(set(steps))


def test_twenty_thousand_steps_in_random_order_are_joined() -> None:
    steps = np.random.default_rng(0).integers(0, 1_000_000, 20_000)
    joined = splice([log(steps.tolist())])
    assert len(joined.segments) > 5_000
    assert np.all(np.diff(joined.series["loss"].steps) > 0)
