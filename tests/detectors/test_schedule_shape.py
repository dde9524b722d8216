"""The family, the lengths and the floor of a schedule are read from its rates, printed as they are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from stethoscope.detectors.schedule_shape import Shape, mismatch, shape

RUN = 10_000
PEAK = 3e-4


def warmed(decay: Callable[[float, float], float], warm_up: int = 500) -> Callable[[int], float]:
    return lambda step: step / warm_up if step < warm_up else decay(step - warm_up, RUN - warm_up)


def half_cosine(part: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * min(part, 1.0)))


def one_cycle(step: int) -> float:
    return (
        0.04 + 0.96 * (1.0 - half_cosine(step / 3000)) if step < 3000 else half_cosine((step - 3000) / 7000)
    )


def stable(decay: Callable[[float], float]) -> Callable[[int], float]:
    return lambda step: step / 500 if step < 500 else 1.0 if step < 8000 else decay((step - 8000) / 2000)


SCHEDULES: dict[str, Callable[[int], float]] = {
    "constant": lambda step: 1.0,
    "linear": warmed(lambda step, left: 1.0 - step / left),
    "cosine": warmed(lambda step, left: 0.1 + 0.9 * half_cosine(step / left)),
    "exponential": lambda step: 0.9997**step,
    "polynomial": lambda step: (1.0 - step / RUN) ** 2,
    "step": lambda step: 0.1 ** (step // 3000),
    "inverse square root": lambda step: min((step + 1) / 1000, math.sqrt(1000 / (step + 1))),
    "one cycle": one_cycle,
    "stable, then linear": stable(lambda part: 1.0 - part),
    "stable, then cosine": stable(half_cosine),
    "stable, then 1 - sqrt": stable(lambda part: 1.0 - math.sqrt(part)),
    "cyclic": lambda step: half_cosine(step % 2500 / 2500),
}


def seen(schedule: Callable[[int], float], printed: str = "{:.17g}", every: int = 100) -> Shape | None:
    steps = np.arange(0, RUN, every)
    return shape(steps, np.array([float(printed.format(PEAK * schedule(int(step)))) for step in steps]))


@pytest.mark.parametrize("every", [10, 100])
@pytest.mark.parametrize("printed", ["{:.17g}", "{:.2e}", "{:.6f}"])
@pytest.mark.parametrize("family", SCHEDULES)
def test_every_family_is_known(family: str, printed: str, every: int) -> None:
    found = seen(SCHEDULES[family], printed, every)
    assert found is not None
    assert found.family == family


@pytest.mark.parametrize("printed", ["{:.17g}", "{:.2e}"])
@pytest.mark.parametrize("family", ["linear", "cosine", "stable, then linear", "stable, then cosine"])
def test_warm_up_and_length_are_read(family: str, printed: str) -> None:
    found = seen(SCHEDULES[family], printed)
    assert found is not None
    assert found.warm_up == pytest.approx(500, rel=0.02)
    assert found.length == pytest.approx(9500, rel=0.02)


def test_the_floor_of_a_cosine_is_read_before_it_is_reached() -> None:
    found = seen(warmed(lambda step, left: 0.1 + 0.9 * half_cosine(step / left / 1.5)))
    assert found is not None
    assert found.floor == pytest.approx(0.1 * PEAK, rel=0.05)
    assert found.length == pytest.approx(1.5 * 9500, rel=0.02)


def test_milestones_and_their_factor_are_read() -> None:
    found = seen(SCHEDULES["step"])
    assert found is not None
    assert found.milestones == (3000, 6000, 9000)
    assert found.factor == pytest.approx(0.1)


def test_what_is_printed_too_coarsely_has_no_length() -> None:
    found = seen(warmed(lambda step, left: half_cosine(step / left / 4)), "{:.2e}")
    assert found is not None
    assert found.length is None


@pytest.mark.parametrize("rates", [[0.0] * 20, [1e-3] * 5, list(range(1, 30))])
def test_what_has_no_decay_has_no_family(rates: list[float]) -> None:
    found = shape(np.arange(len(rates)), np.array(rates, dtype=np.float64))
    assert found is None


def test_noise_has_no_family() -> None:
    rates = np.exp(np.random.default_rng(0).standard_normal(200))
    assert shape(np.arange(200), rates) is None


def test_a_length_is_off_by_a_number_of_the_training_or_not_at_all() -> None:
    factors = {"processes": 4.0, "batches of an update": 16.0}
    found = mismatch(20_100.0, 5000.0, factors, 0.03)
    assert found is not None
    assert (found.name, found.slower) == ("processes", True)
    assert mismatch(15_000.0, 5000.0, factors, 0.03) is None
    assert mismatch(5100.0, 5000.0, factors, 0.03) is None
    faster = mismatch(312.0, 5000.0, factors, 0.03)
    assert faster is not None
    assert (faster.name, faster.slower) == ("batches of an update", False)
