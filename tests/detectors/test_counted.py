"""How many samples stand behind an accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.counted import error_of_difference, samples


@pytest.mark.parametrize("count", [16, 20, 64, 160, 200])
def test_the_steps_of_an_accuracy_tell_the_number_of_samples(count: int) -> None:
    right = np.random.default_rng(count).integers(count // 4, count, 40)
    assert samples(np.round(right / count, 6)) == count


def test_rounding_alone_is_no_grid() -> None:
    shares = np.round(np.random.default_rng(1).uniform(0.3, 0.9, 60), 2)
    assert samples(shares) is None


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5, 0.5], [-1.0, 0.2, 0.4], [1.0, 20.0, 55.5]])
def test_odd_values_tell_nothing(values: list[float]) -> None:
    assert samples(np.array(values)) is None


def test_the_error_is_that_of_two_counts() -> None:
    rng = np.random.default_rng(2)
    drawn = (rng.binomial(50, 0.7, 20_000) - rng.binomial(50, 0.7, 20_000)) / 50
    assert error_of_difference(0.7, 50) == pytest.approx(drawn.std(), rel=0.02)
