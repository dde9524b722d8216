"""A line read by the shape of another gives what it gives read on its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.logs._layouts import Layouts
from stethoscope.logs.basicsr import _places
from tests.fixtures.logs.make import HERE

VALUE = st.sampled_from(["1.0000e-02", "nan", "inf", "-3.1", "0", "5.e+20"])
ETA = st.sampled_from(["0:10:00", "1 day, 3:00:00", "12 days, 0:00:01"])


def agree(lines: list[str]) -> int:
    shared, compared = Layouts(_places), 0
    for line in lines:
        together, alone = shared.read(line), Layouts(_places).read(line)
        if together is None or alone is None:
            assert together is alone
            continue
        assert (together[0].names, together[1]) == (alone[0].names, alone[1]), line
        compared += 1
    return compared


def test_the_fixtures_read_the_same_by_shape_and_alone() -> None:
    for name in ("train_redux_20251129_142010.log", "train_basicsr_20241018_192730.log", "neosr.log"):
        assert agree((HERE / name).read_text().splitlines()) >= 3


@pytest.mark.corpus
def test_real_logs_read_the_same_by_shape_and_alone(corpus: Path) -> None:
    for pattern in ("trainner_redux/*/*.log", "basicsr/*20241018/*.log"):
        for path in corpus.glob(pattern):
            assert agree(path.read_text(encoding="utf-8").splitlines()) > 40


@given(st.lists(st.tuples(st.integers(0, 10**7), ETA, VALUE, VALUE), min_size=2, max_size=6))
def test_any_values_read_the_same_by_shape_and_alone(rows: list[tuple[int, str, str, str]]) -> None:
    line = "[epoch:{0:4,d}, iter:{0:8,d}, lr:({2})] [eta: {1}] l_g_l1: {3} l_g_total: {2} "
    assert agree([line.format(*row) for row in rows]) == len(rows)
