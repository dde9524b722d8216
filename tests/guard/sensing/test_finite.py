"""Whether tensors are finite, of every kind there is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from stethoscope.guard.sensing.finite import (
    Bad,
    all_finite,
    bad_in_state,
    first_bad,
    infinite_by_design,
    is_placeholder,
)

NAN, INF = math.nan, math.inf
EIGHT_BITS = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_bad_value_among_many_tensors_is_seen(dtype: torch.dtype, value: float) -> None:
    tensors = [torch.randn(7, 3).to(dtype) for _ in range(5)]
    assert all_finite(tensors).item() is True
    tensors[3][2, 1] = value
    flag = all_finite(tensors)
    assert flag.shape == ()
    assert flag.dtype is torch.bool
    assert flag.item() is False


def test_the_largest_numbers_are_finite() -> None:
    assert all_finite([torch.full((1000,), 65504.0, dtype=torch.float16)]).item()
    assert all_finite([torch.full((1000,), 3e38)]).item()


def test_what_cannot_be_infinite_is_finite() -> None:
    tensors = [
        torch.arange(3),
        torch.tensor([True]),
        torch.empty(0),
        torch.empty(3, device="meta"),
        torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    ]
    assert all_finite(tensors).item()
    assert all_finite([]).item()
    assert first_bad(enumerate_names(tensors)) == []


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_nan_in_eight_bits_is_seen(dtype: torch.dtype) -> None:
    assert all_finite([torch.ones(4).to(dtype)]).item()
    assert not all_finite([torch.tensor([1.0, NAN]).to(dtype)]).item()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:The PyTorch API of nested")
def test_complex_sparse_and_nested_tensors_are_looked_into() -> None:
    healthy = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    sick = torch.tensor([[0.0, NAN], [2.0, 0.0]])
    bad_complex = torch.complex(torch.ones(2), torch.tensor([1.0, INF]))
    for make in (Tensor.to_sparse, Tensor.to_sparse_csr, lambda t: torch.nested.as_nested_tensor([t, t[:1]])):
        assert all_finite([make(healthy)]).item()
        assert not all_finite([make(sick)]).item()
    assert not all_finite([bad_complex]).item()
    assert not all_finite([bad_complex.conj()]).item()
    assert all_finite([torch.ones(2, dtype=torch.complex64).conj()]).item()


def test_bad_tensors_are_named_with_what_they_hold() -> None:
    named = {
        "a": torch.ones(3),
        "b": torch.tensor([NAN, 1.0, NAN]),
        "c": torch.tensor([INF, 1.0]),
        "d": torch.tensor([NAN, -INF]),
    }
    assert first_bad(named) == [Bad("b", "NaN", 2), Bad("c", "inf", 1), Bad("d", "NaN and inf", 2)]
    assert first_bad(named, most=1) == [("b", "NaN", 2)]


@dataclass
class Progress:
    steps: int
    averages: list[Tensor]


def test_the_path_of_the_first_bad_tensor_is_found_in_nested_state() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "progress": Progress(3, [torch.ones(2)]),
        "best": (INF, NAN),
    }
    assert bad_in_state(state) == []
    state["progress"].averages[0][1] = NAN
    assert _first(state) == "progress.averages.0"
    optimizer.state[model.bias]["exp_avg"][0] = NAN
    assert _first(state) == "optimizer.state.1.exp_avg"
    assert _first(optimizer.state) == "1.exp_avg"


def _first(state: object) -> str:
    return bad_in_state(state, most=1)[0].name


def test_a_state_that_leads_back_to_itself_ends() -> None:
    state: dict[str, object] = {"weight": torch.ones(1)}
    state["again"] = state
    assert bad_in_state(state) == []


@pytest.mark.parametrize(
    "tensor",
    [
        torch.full((4, 4), -INF).triu(1),
        torch.tensor(INF),
        torch.full((3,), -INF),
    ],
)
def test_masks_and_scores_to_come_are_no_damage(tensor: Tensor) -> None:
    assert is_placeholder(tensor)
    assert bad_in_state({"mask": tensor}) == []


@pytest.mark.parametrize("values", [[INF, -INF], [INF, 0.1, 0.2], [INF, NAN], [NAN], [1.0, 2.0]])
def test_destroyed_weights_are_no_mask(values: list[float]) -> None:
    assert not is_placeholder(torch.tensor(values))


def test_what_is_excused_by_name_is_not_told() -> None:
    state = {"model": {"attention.bias": torch.tensor([-INF, 0.5, 0.2])}}
    assert [bad.name for bad in bad_in_state(state)] == ["model.attention.bias"]
    assert bad_in_state(state, excused=["attention.bias"]) == []
    assert bad_in_state(state, excused=["bias"]) == []
    assert bad_in_state(state, excused=["tention.bias"]) != []


def test_buffers_that_begin_infinite_are_known_by_name() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[0].register_buffer("alibi", torch.tensor([-INF, 0.5, 0.2]))
    assert infinite_by_design(model) == {"0.alibi"}
    assert bad_in_state(model.state_dict(), excused=infinite_by_design(model)) == []


def enumerate_names(tensors: list[Tensor]) -> list[tuple[str, Tensor]]:
    return [(str(number), tensor) for number, tensor in enumerate(tensors)]
