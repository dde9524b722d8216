"""Numbers that are held where they are until a window is full."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from stethoscope.guard.sensing.ring import Ring, Seen, writes_to

CPU = torch.device("cpu")


def seen(**numbers: Tensor) -> Seen:
    return Seen(list(numbers), list(numbers.values()), [writes_to(one) for one in numbers.values()])


def rows_of(*numbers: Tensor) -> list[Seen]:
    return [seen(loss=number) for number in numbers]


def test_numbers_arrive_as_they_were_seen() -> None:
    rows = rows_of(torch.tensor(1.5), torch.tensor(math.nan), torch.tensor(math.inf))
    arrived = [row["loss"] for row in Ring(CPU).send(rows).rows()]
    assert arrived[0] == 1.5
    assert math.isnan(arrived[1])
    assert arrived[2] == math.inf


def test_rows_may_hold_different_numbers() -> None:
    first = seen(loss=torch.tensor(1.0), ratio=torch.tensor(0.5))
    window = Ring(CPU).send([first, seen(), seen(loss=torch.tensor(2.0))])
    assert window.rows() == [{"loss": 1.0, "ratio": 0.5}, {}, {"loss": 2.0}]


def test_a_number_that_was_written_to_is_left_out_and_told_of() -> None:
    ring = Ring(CPU)
    good, changed = torch.tensor(1.0), torch.tensor(2.0)
    rows = rows_of(good, changed)
    changed.mul_(3.0)
    assert ring.is_steady
    assert ring.send(rows).rows() == [{"loss": 1.0}, {}]
    assert not ring.is_steady


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_any_type_of_number_arrives_as_a_float(dtype: torch.dtype) -> None:
    window = Ring(CPU).send(rows_of(torch.tensor(3, dtype=dtype), torch.tensor(0.25)))
    assert window.rows() == [{"loss": 3.0}, {"loss": 0.25}]


def test_of_numbers_in_the_same_memory_only_the_last_is_kept() -> None:
    ring = Ring(CPU)
    shared = torch.tensor(4.0)
    assert ring.send(rows_of(shared, torch.tensor(1.0), shared.detach())).rows() == [
        {},
        {"loss": 1.0},
        {"loss": 4.0},
    ]
    assert not ring.is_steady


def test_losses_of_several_shapes_arrive_as_their_means() -> None:
    window = Ring(CPU).send(rows_of(torch.tensor([1.0, 3.0]), torch.tensor(5.0), torch.tensor([7.0])))
    assert window.rows() == [{"loss": 2.0}, {"loss": 5.0}, {"loss": 7.0}]


def test_a_number_of_the_inference_mode_counts_no_writes() -> None:
    with torch.inference_mode():
        part = torch.tensor(1.0)
    assert Ring(CPU).send(rows_of(part)).rows() == [{"loss": 1.0}]


def test_an_empty_window_is_empty() -> None:
    assert Ring(CPU).send([seen(), seen()]).rows() == [{}, {}]
