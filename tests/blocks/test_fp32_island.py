"""Islands of float32 compute in float32, whatever is around them."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from stethoscope.blocks.fp32_island import Fp32Island, fp32_island
from tests.blocks.docstring_example import run_example

HALVES = [torch.float16, torch.bfloat16]


class Pair(NamedTuple):
    """Two tensors with names."""

    query: Tensor
    key: Tensor


def total(x: Tensor) -> Tensor:
    return (x @ x.T).sum()


def same(x: Tensor) -> Tensor:
    return x


def large(dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.full((64, 64), 100.0, dtype=dtype)


def test_a_product_that_overflows_in_half_is_right_inside():
    with torch.autocast("cpu", dtype=torch.float16):
        assert total(large()).isinf()
        assert total(large().float()).isinf()  # converting alone does not help
        assert fp32_island(total)(large()).item() == 64 * 64 * 64 * 100.0**2


@pytest.mark.parametrize("dtype", HALVES)
def test_autocast_is_off_inside_and_on_again_after(dtype: torch.dtype):
    linear = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=dtype):
        assert Fp32Island(linear)(torch.ones(2, 4)).dtype == torch.float32
        assert linear(torch.ones(2, 4)).dtype == dtype


def test_autocast_is_on_again_after_an_error():
    def fails(x: Tensor) -> Tensor:
        raise ArithmeticError("no")

    with torch.autocast("cpu", dtype=torch.float16):
        with pytest.raises(ArithmeticError, match="no"):
            fp32_island(fails)(large())
        assert torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("dtype", HALVES)
def test_tensors_inside_containers_are_converted(dtype: torch.dtype):
    half = torch.ones(2, dtype=dtype)
    seen = fp32_island(lambda *args, **kwargs: (args, kwargs))(
        half, [half, (half, 3)], Pair(half, half), mask={"inner": half}, name="x"
    )
    (plain, nested, pair), kwargs = seen
    assert plain.dtype == nested[0].dtype == nested[1][0].dtype == torch.float32
    assert nested[1][1] == 3
    assert isinstance(pair, Pair)
    assert pair.key.dtype == kwargs["mask"]["inner"].dtype == torch.float32
    assert kwargs["name"] == "x"


def test_float64_integers_and_truth_values_pass_as_they_are():
    for dtype in (torch.float64, torch.int64, torch.bool, torch.float32):
        assert fp32_island(same)(torch.ones(2, dtype=dtype)).dtype == dtype


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_half_complex_numbers_become_complex64():
    spectrum = torch.ones(2, dtype=torch.complex64).to(torch.complex32)
    assert fp32_island(same)(spectrum).dtype == torch.complex64


@pytest.mark.parametrize("dtype", HALVES)
def test_results_go_back_to_the_type_of_the_arguments(dtype: torch.dtype):
    @fp32_island(cast_back=True)
    def both(x: Tensor) -> dict[str, Tensor]:
        return {"value": x * 2, "index": x.argmax()}

    result = both(torch.ones(3, dtype=dtype))
    assert result["value"].dtype == dtype
    assert result["index"].dtype == torch.int64
    assert both(torch.ones(3))["value"].dtype == torch.float32


def test_an_island_inside_an_island_leaves_autocast_off():
    inner = fp32_island(total)

    @fp32_island
    def outer(x: Tensor) -> tuple[Tensor, Tensor]:
        return inner(x), x @ x

    with torch.autocast("cpu", dtype=torch.float16):
        first, after = outer(large())
    assert first.isfinite()
    assert after.dtype == torch.float32


def test_the_gradient_is_that_of_float32():
    weight = torch.linspace(-1, 1, 16).reshape(4, 4)
    x = torch.linspace(-3, 3, 8, dtype=torch.float16).reshape(2, 4).requires_grad_()
    with torch.autocast("cpu", dtype=torch.float16):
        fp32_island(lambda y: (y @ weight).pow(2).sum())(x).backward()
    exact = x.detach().double() @ weight.double() @ weight.double().T * 2
    assert x.grad is not None
    assert x.grad.dtype == torch.float16
    torch.testing.assert_close(x.grad.double(), exact, rtol=1e-3, atol=1e-3)


def test_parameters_stay_in_float32_when_the_network_is_halved():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 4), Fp32Island(nn.Linear(4, 4), cast_back=True))
    before = network[1].module.weight.detach().clone()
    network.half()
    assert network[0].weight.dtype == torch.float16
    assert torch.equal(network[1].module.weight, before)
    assert network(torch.ones(2, 4, dtype=torch.float16)).dtype == torch.float16
    assert network.double()[1].module.weight.dtype == torch.float64


def test_a_half_module_is_widened_when_it_is_wrapped():
    assert Fp32Island(nn.Linear(2, 2).half()).module.weight.dtype == torch.float32


def test_state_dict_round_trips():
    source, target = Fp32Island(nn.Linear(3, 3)), Fp32Island(nn.Linear(3, 3))
    target.load_state_dict(source.state_dict())
    assert torch.equal(source(torch.ones(1, 3)), target(torch.ones(1, 3)))


def test_torch_compile_takes_an_island_as_one_graph():
    torch.compiler.reset()
    island = Fp32Island(nn.Linear(64, 64), cast_back=True)

    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        return fp32_island(total)(x), island(x)

    with torch.autocast("cpu", dtype=torch.float16):
        loss, out = torch.compile(step, fullgraph=True, backend="aot_eager")(large())
    assert loss.item() == 64 * 64 * 64 * 100.0**2
    assert out.dtype == torch.float16


def test_a_method_can_be_an_island():
    class Layer(nn.Module):
        @fp32_island
        def forward(self, x: Tensor, *, bias: Tensor) -> Tensor:
            return x @ x + bias

    with torch.autocast("cpu", dtype=torch.float16):
        out = Layer()(large(), bias=torch.zeros(64, dtype=torch.float16))
    assert out.dtype == torch.float32
    assert out.max().item() == 64 * 100.0**2


def test_the_name_and_the_description_show_what_is_inside():
    assert fp32_island(total).__name__ == "total"
    assert "cast_back=True" in repr(Fp32Island(nn.Identity(), cast_back=True))


def test_the_example_on_the_page_runs():
    assert run_example("fp32_island") == "tensor(True) torch.float16\n"
