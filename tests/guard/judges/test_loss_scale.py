"""The loss scale is judged by its direction, and with the verdict of the post-mortem."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors import scaler
from stethoscope.guard.happening import Answer, Kind, Severity
from stethoscope.guard.judges.loss_scale import expanded
from stethoscope.guard.policy import Policy
from stethoscope.run import Values
from tests.detectors.test_scaler import ceiling, forward, simulated

from .runs import INF, REWINDING, judged, rows, warnings


def steps_of(scale: Values) -> list[dict[str, float]]:
    """A run with this scale: each fall is a skipped step before it."""
    falls = np.append(np.diff(scale) < 0, False).tolist()
    return [
        {**row, "loss_scale": at, **({"grad_norm": INF, "skipped": 1.0} if fell else {})}
        for row, at, fell in zip(rows(len(scale)), scale.tolist(), falls, strict=True)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("overflows", [ceiling(12), forward(0.003), forward(0.1)])
def test_the_changes_alone_give_the_verdict_of_the_whole_path(overflows: object, seed: int) -> None:
    steps, scale = simulated(6000, overflows, seed)  # type: ignore[arg-type]
    scale = np.maximum(scale, 2.0**-900)
    whole = scaler.path(steps, scale)
    moved = [0, *(np.flatnonzero(np.diff(scale)) + 1).tolist()]
    short = expanded(tuple((at, float(scale[at])) for at in moved), 5999)
    assert (short.steps_at, short.skips_at) == (whole.steps_at, whole.skips_at)
    assert scaler.decline(short) == scaler.decline(whole)


@pytest.mark.parametrize("top", [6.0, 14.0, 21.0])
def test_a_sawtooth_and_a_high_scale_are_silence(top: float) -> None:
    _, scale = simulated(20_000, ceiling(top), 1)
    _, told = judged(steps_of(scale))
    assert warnings(told) == []


def test_the_opening_search_is_silence() -> None:
    scale = 2.0 ** np.maximum(32.0 - np.arange(400), 8.0)
    _, told = judged(steps_of(scale))
    assert warnings(told) == []


def test_a_constant_scale_of_one_is_silence() -> None:
    _, told = judged(rows(500, loss_scale=1.0))
    assert told == []


def test_a_fall_at_any_scale_is_named_as_overflow_before_the_floor() -> None:
    _, scale = simulated(3000, forward(0.02), 2)
    _, told = judged(steps_of(np.maximum(scale, 2.0)))
    (one,) = warnings(told, Kind.SCALE_FALLING)[:1]
    assert one.facts["overflow_in"] == "forward" or one.facts.get("hazard_slope") is None
    assert "not underflow" in one.means
    assert isinstance(one.facts["steps_to_floor"], int)
    assert one.step < 1700


def test_the_floor_is_told_once_and_asks_to_go_back() -> None:
    scale = np.concatenate([np.full(200, 65536.0), 2.0 ** np.maximum(15.0 - np.arange(200) // 4, 0.0)])
    _, told = judged(steps_of(scale), REWINDING)
    (one,) = warnings(told, Kind.SCALE_AT_FLOOR)
    assert (one.answer, one.severity) == (Answer.REWIND, Severity.CRITICAL)
    _, told = judged(steps_of(scale))
    (one,) = warnings(told, Kind.SCALE_AT_FLOOR)
    assert one.answer is Answer.NONE


def test_a_scale_of_zero_stops_because_it_never_grows_again() -> None:
    _, told = judged([*rows(300, loss_scale=4.0), *rows(3, loss_scale=0.0)])
    (one,) = warnings(told)
    assert (one.kind, one.answer) == (Kind.SCALE_AT_FLOOR, Answer.STOP)


def test_the_floor_is_the_one_that_was_set() -> None:
    scale = np.concatenate([np.full(200, 65536.0), 2.0 ** np.maximum(15.0 - np.arange(200) // 4, 6.0)])
    _, told = judged(steps_of(scale), Policy(scale_floor=128.0))
    assert [one.facts["floor"] for one in warnings(told, Kind.SCALE_AT_FLOOR)] == [128.0]
