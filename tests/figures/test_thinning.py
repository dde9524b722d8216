from __future__ import annotations

import numpy as np
import pytest

from stethoscope.figures.chart import Numbers
from stethoscope.figures.thinning import PER_COLUMN, band_parts, dots, line_parts

WIDE = 300


def column_extremes(x: Numbers, y: Numbers) -> dict[int, tuple[float, float, float, float]]:
    """First, last, lowest and highest value of every pixel column, one column at a time."""
    held: dict[int, list[float]] = {}
    for place, value in zip(x, y, strict=True):
        if np.isfinite(value):
            held.setdefault(int(place), []).append(float(value))
    return {cell: (part[0], part[-1], min(part), max(part)) for cell, part in held.items()}


def noisy(points: int, seed: int = 0) -> tuple[Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    return np.linspace(0, WIDE - 1e-9, points), rng.standard_cauchy(points)


def test_every_column_keeps_its_first_last_lowest_and_highest() -> None:
    x, y = noisy(20_000)
    y[5000:5300] = np.nan
    kept = np.concatenate(line_parts(x, y, WIDE))
    assert column_extremes(x[kept], y[kept]) == column_extremes(x, y)
    assert len(kept) <= PER_COLUMN * WIDE


def test_few_points_are_all_kept() -> None:
    x, y = noisy(400)
    (part,) = line_parts(x, y, WIDE)
    assert part.tolist() == list(range(400))


@pytest.mark.parametrize("points", [300, 30_000])
def test_a_gap_parts_the_line_where_it_is(points: int) -> None:
    x, y = noisy(points)
    y[points // 3 : points // 2] = np.nan
    first, second = line_parts(x, y, WIDE)
    assert first[-1] == points // 3 - 1
    assert second[0] == points // 2


def test_a_gap_narrower_than_a_pixel_does_not_tear_a_long_line_apart() -> None:
    x, y = noisy(100_000)
    y[1::2] = np.nan
    assert sum(len(part) for part in line_parts(x, y, WIDE)) <= PER_COLUMN * WIDE


def test_places_that_are_not_finite_are_gaps_too() -> None:
    parts = line_parts(np.array([0.0, 1.0, np.nan, 3.0, np.inf, 5.0]), np.arange(6.0), WIDE)
    assert [part.tolist() for part in parts] == [[0, 1], [3], [5]]
    assert line_parts(np.array([np.nan]), np.array([1.0]), WIDE) == []


def test_a_path_that_turns_back_keeps_its_shape() -> None:
    turn = np.linspace(0, 40 * np.pi, 50_000)
    x, y = 150 + 100 * np.cos(turn), 150 + 100 * np.sin(turn)
    (part,) = line_parts(x, y, WIDE)
    assert part[-1] == len(x) - 1
    assert np.hypot(np.diff(x[part]), np.diff(y[part])).max() < 1.5


def test_a_band_keeps_the_extremes_of_every_column() -> None:
    x, y = noisy(20_000)
    ((places, low, high),) = band_parts(x, y - 1, y + 2, WIDE)
    expected = column_extremes(x, y)
    assert len(places) == WIDE
    assert low.tolist() == [expected[cell][2] - 1 for cell in range(WIDE)]
    assert high.tolist() == [expected[cell][3] + 2 for cell in range(WIDE)]


def test_a_band_has_gaps_where_either_edge_has() -> None:
    low, high = np.zeros(5), np.array([1.0, 1.0, np.nan, 1.0, 1.0])
    assert [len(places) for places, _, _ in band_parts(np.arange(5.0), low, high, WIDE)] == [2, 2]


def test_dots_that_hide_behind_others_are_left_out() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 30, 10_000), rng.uniform(0, 30, 10_000)
    assert len(dots(x, y)) == 100  # cells of three by three pixels
    assert dots(np.array([1.0, np.nan]), np.array([1.0, 1.0])).tolist() == [0]
