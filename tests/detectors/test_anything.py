"""Whatever a log holds, no detector fails or warns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.detectors import (
    confounding,
    divergence,
    loss_floor,
    lr_jump,
    non_finite,
    peak,
    periodicity,
    phase_folding,
    plateau,
    replay,
    rising_run,
    scaler,
    schedule_shape,
    spike,
    tail,
    trend,
)
from stethoscope.detectors.aftermath import follow
from stethoscope.run import Steps, Values

# These take whatever was logged.
RAW: dict[str, Callable[[Steps, Values], object]] = {
    "non_finite": lambda steps, values: non_finite.scan(values),
    "scaler": lambda steps, values: scaler.decline(scaler.path(steps, values)),
    "spike": lambda steps, values: follow(steps, values, spike.scan(values)),
    "spike, linear": lambda steps, values: follow(steps, values, spike.scan(values, False, 8)),
}
# These are given the finite values.
FINITE: dict[str, Callable[[Steps, Values], object]] = {
    "confounding": lambda steps, values: confounding.given_difficulty(steps, values, np.sqrt(1.0 * steps)),
    "divergence": divergence.rise,
    "loss_floor": lambda steps, values: loss_floor.double_softmax(values, 10, 0.9),
    "lr_jump": lr_jump.jumps,
    "peak": peak.peak,
    "periodicity": periodicity.swing,
    "phase_folding": lambda steps, values: phase_folding.fold(steps, values, 16.0),
    "plateau": plateau.flatness,
    "replay": lambda steps, values: replay.replay((steps, values), (steps, values[::-1])),
    "rising_run": lambda steps, values: rising_run.rising_run(values),
    "schedule_shape": schedule_shape.shape,
    "tail": lambda steps, values: tail.fit(np.tile(values, 20)),
    "trend": trend.trend,
}
CURVES = st.one_of(
    st.lists(st.floats(width=64), max_size=120),
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, 5e-324]), max_size=200),
    st.builds(lambda value, count: [value] * count, st.floats(-1e300, 1e300), st.integers(0, 300)),
)


@pytest.mark.parametrize("name", [*RAW, *FINITE])
@settings(max_examples=40, deadline=None)
@given(logged=CURVES)
def test_it_survives(name: str, logged: list[float]) -> None:
    values = np.array(logged, dtype=np.float64)
    if name in FINITE:
        values = values[np.isfinite(values)]
    {**RAW, **FINITE}[name](np.arange(len(values)), values)
