"""A plot shows the curve it was given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from stethoscope.report.plot import plot


def of(*values: float, width: int = 4, height: int = 2, only_ascii: bool = True) -> tuple[str, ...]:
    drawn = plot(np.arange(len(values), dtype=np.float64), np.array(values), width, height, only_ascii)
    assert drawn is not None
    return drawn.rows


def test_a_falling_line_falls() -> None:
    assert of(3, 2, 1, 0, height=4) == ("*   ", " *  ", "  * ", "   *")


def test_braille_has_eight_dots_a_letter() -> None:
    blank = "\N{BRAILLE PATTERN BLANK}" * 2
    assert of(*range(8, 0, -1), width=4, height=2, only_ascii=False) == (
        f"\N{BRAILLE PATTERN DOTS-15}\N{BRAILLE PATTERN DOTS-38}{blank}",
        f"{blank}\N{BRAILLE PATTERN DOTS-15}\N{BRAILLE PATTERN DOTS-38}",
    )


def test_many_values_in_a_column_are_drawn_by_their_median_and_a_far_one_by_itself() -> None:
    noise = [4.0, 5.0, 6.0] * 20
    noise[31] = 100.0
    assert of(*noise, width=4, height=10) == ("  * ", *("    ",) * 8, "****")


def test_a_jump_is_a_line_and_not_a_gap() -> None:
    assert of(3, 3, 0, 0, height=4) == ("**  ", "  * ", "  * ", "  **")


def test_a_constant_runs_through_the_middle() -> None:
    assert of(5, 5, 5, 5, height=3) == ("    ", "****", "    ")


def test_values_that_are_not_finite_leave_the_scale_alone() -> None:
    drawn = plot(np.arange(4.0), np.array([1.0, math.nan, math.inf, 2.0]), 4, 2, True)
    assert drawn is not None
    assert (drawn.bottom, drawn.top) == (1.0, 2.0)


def test_nothing_finite_is_not_drawn() -> None:
    assert plot(np.arange(2.0), np.array([math.nan, math.inf]), 4, 2) is None


def test_a_curve_over_decades_is_drawn_on_a_log_scale() -> None:
    drawn = plot(np.arange(4.0), np.array([1000.0, 100.0, 10.0, 1.0]), 4, 4, True)
    assert drawn is not None
    assert drawn.logarithmic
    assert drawn.rows == ("*   ", " *  ", "  * ", "   *")


@given(
    arrays.arrays(np.float64, st.integers(1, 50), elements=st.floats(allow_nan=True, allow_infinity=True)),
    st.integers(1, 70),
    st.integers(1, 10),
    st.booleans(),
)
def test_any_values_fit_their_frame(values: np.ndarray, width: int, height: int, only_ascii: bool) -> None:
    drawn = plot(np.arange(len(values), dtype=np.float64), values, width, height, only_ascii)
    if drawn is None:
        assert not np.isfinite(values).any()
        return
    assert len(drawn.rows) == height
    assert {len(row) for row in drawn.rows} == {width}
    assert "".join(drawn.rows).strip()


@pytest.mark.parametrize(("step", "column"), [(0, 0), (3, 9), (99, 9), (-5, 0)])
def test_steps_map_to_columns(step: int, column: int) -> None:
    drawn = plot(np.arange(4.0), np.arange(4.0), 10, 2, True)
    assert drawn is not None
    assert drawn.columns(np.array([step, step])) == [column]
