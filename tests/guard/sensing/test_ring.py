"""Numbers that are held where they are until a window is full."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from stethoscope.guard.sensing.ring import Ring, Row, sight

CPU = torch.device("cpu")


def rows_of(*numbers: Tensor) -> list[Row]:
    return [{"loss": sight(number)} for number in numbers]


def test_numbers_arrive_as_they_were_seen() -> None:
    seen = rows_of(torch.tensor(1.5), torch.tensor(math.nan), torch.tensor(math.inf))
    arrived = [row["loss"] for row in Ring(CPU).send(seen).rows()]
    assert arrived[0] == 1.5
    assert math.isnan(arrived[1])
    assert arrived[2] == math.inf


def test_rows_may_hold_different_numbers() -> None:
    first: Row = {"loss": sight(torch.tensor(1.0)), "ratio": sight(torch.tensor(0.5))}
    window = Ring(CPU).send([first, {}, {"loss": sight(torch.tensor(2.0))}])
    assert window.rows() == [{"loss": 1.0, "ratio": 0.5}, {}, {"loss": 2.0}]


def test_a_number_that_was_written_to_is_left_out_and_told_of() -> None:
    ring = Ring(CPU)
    good, changed = torch.tensor(1.0), torch.tensor(2.0)
    seen = rows_of(good, changed)
    changed.mul_(3.0)
    assert ring.is_steady
    assert ring.send(seen).rows() == [{"loss": 1.0}, {}]
    assert not ring.is_steady


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_any_type_of_number_arrives_as_a_float(dtype: torch.dtype) -> None:
    window = Ring(CPU).send(rows_of(torch.tensor(3, dtype=dtype), torch.tensor(0.25)))
    assert window.rows() == [{"loss": 3.0}, {"loss": 0.25}]


def test_no_graph_is_kept_alive() -> None:
    loss = (torch.ones(3, requires_grad=True) * 2.0).sum()
    number, _ = sight(loss)
    assert number.grad_fn is None
    assert number.data_ptr() == loss.data_ptr()


def test_a_number_of_the_inference_mode_counts_no_writes() -> None:
    with torch.inference_mode():
        part = torch.tensor(1.0)
    assert Ring(CPU).send(rows_of(part)).rows() == [{"loss": 1.0}]


def test_an_empty_window_is_empty() -> None:
    assert Ring(CPU).send([{}, {}]).rows() == [{}, {}]
