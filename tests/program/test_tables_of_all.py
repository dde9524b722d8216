"""Numbers that a program is tried on are never made into tables of all against all."""

from __future__ import annotations

import ast
import tracemalloc

import numpy as np
import pytest

from stethoscope.program.walk.arithmetic import combine
from stethoscope.program.walk.values import Applied, Constant, Site
from stethoscope.run import Source


@pytest.mark.parametrize("symbol", ["==", "*", "@"])
def test_two_long_rows_are_not_held_against_each_other(symbol: str) -> None:
    rows = np.ones((20_000, 1))
    site = Site(Source("a.py", "a", "x", ast.parse("x")), ast.parse("x").body[0])
    tracemalloc.start()
    found = combine(symbol, Constant(rows), Constant(rows.T), site)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(found, Applied)
    assert peak < 50e6
