"""A step between two levels is told from noise, a ramp, a spike and a fall."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.step_up import AFTER, BEFORE, step_up

from .curves import noise


def blocks(before: float, after: float, seed: int = 0, sd: float = 0.01) -> np.ndarray:
    level = np.array([before] * BEFORE + [after] * AFTER)
    return np.asarray(level + sd * noise(BEFORE + AFTER, seed))


@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_seen(seed: int) -> None:
    found = step_up(blocks(2.0, 3.0, seed))
    assert found is not None
    assert found.before == pytest.approx(2.0, abs=0.02)
    assert found.after == pytest.approx(3.0, abs=0.02)


@pytest.mark.parametrize(
    "medians",
    [
        blocks(2.0, 2.0),
        blocks(2.0, 1.0),
        blocks(2.0, 2.2),
        blocks(2.0, 3.0, sd=0.3),
        np.linspace(1.0, 3.0, BEFORE + AFTER),
        np.append(blocks(2.0, 2.0)[1:], 9.0),
        blocks(2.0, 3.0)[:-1],
        np.array([]),
        np.full(BEFORE + AFTER, 1e300),
        np.zeros(BEFORE + AFTER),
    ],
)
def test_nothing_else_is(medians: np.ndarray) -> None:
    assert step_up(medians) is None
