"""A gated product is finite in half precision, right where nothing overflowed, and says what it held back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import erf
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks.gated_product import ACTIVATIONS, GatedProduct, safe_gate
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

HALVES = [torch.float16, torch.bfloat16]


def branches(std: float, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a, b = std * torch.randn(2, 2, 64, 8, 8, generator=generator)
    return a.to(dtype), b.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_the_product_is_that_of_numpy_rounded_once(dtype: torch.dtype):
    a, b = branches(3, dtype)
    x, y = a.double().numpy(), b.double().numpy()
    exact = torch.from_numpy(0.5 * x * (1 + erf(x / np.sqrt(2))) * y)
    product, saturated = safe_gate(a, b, scale=0.5)
    assert product.dtype == dtype
    assert saturated.item() == 0
    torch.testing.assert_close(product.double(), exact / 2, rtol=torch.finfo(dtype).eps, atol=1e-5)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_in_float32_it_is_the_plain_product(name: str):
    a, b = branches(2)
    assert torch.equal(safe_gate(a, b, name).product, ACTIVATIONS[name](a) * b)


def test_what_is_beyond_the_limit_is_held_there_and_counted():
    a = torch.tensor([300.0, 300.0, 2.0, 256.0], dtype=torch.float16)
    b = torch.tensor([300.0, -300.0, 3.0, 256.0], dtype=torch.float16)
    product, saturated = safe_gate(a, b, "identity")
    assert product.tolist() == [65504, -65504, 6, 65504]
    assert saturated.item() == 3
    product, saturated = safe_gate(a, b, "identity", limit=4.0)
    assert product.tolist() == [4, -4, 4, 4]
    assert saturated.item() == 4
    product, saturated = safe_gate(a, b, "identity", scale=1 / 16)
    assert product.tolist() == [5624, -5624, 0.375, 4096]  # 5625 lies between two numbers of float16
    assert saturated.item() == 0


def test_the_next_convolution_stays_finite_where_a_conversion_alone_does_not_help():
    torch.manual_seed(0)
    next_layer = nn.Conv2d(64, 64, 1)
    a, b = branches(150, torch.float16)
    with torch.autocast("cpu", dtype=torch.float16):
        converted = next_layer(functional.gelu(a.float()) * b.float())
        product, saturated = safe_gate(a, b)
        safe = next_layer(product)
    assert (~converted.isfinite()).float().mean() > 0.3
    assert safe.isfinite().all()
    assert 0 < saturated.item() < 0.02 * a.numel()


def test_float32_branches_go_on_in_the_type_of_autocast():
    a, b = branches(300)
    for dtype, overflows in ((torch.float16, True), (torch.bfloat16, False)):
        with torch.autocast("cpu", dtype=dtype):
            product, saturated = safe_gate(a, b)
        assert product.dtype == dtype
        assert product.isfinite().all()
        assert (saturated.item() > 0) == overflows
    assert safe_gate(a, b).saturated.item() == 0


def test_the_gradient_is_right_where_nothing_overflowed_and_zero_elsewhere():
    a = torch.tensor([300.0, 2.0, -1.5], dtype=torch.float16, requires_grad=True)
    b = torch.tensor([300.0, 3.0, 0.5], dtype=torch.float16, requires_grad=True)
    safe_gate(a, b).product.sum().backward()
    x, y = (tensor.detach().double().requires_grad_() for tensor in (a, b))
    (functional.gelu(x) * y).sum().backward()
    for found, exact in ((a.grad, x.grad), (b.grad, y.grad)):
        assert found is not None
        assert exact is not None
        assert found[0] == 0
        torch.testing.assert_close(found[1:].double(), exact[1:], rtol=1e-3, atol=1e-4)


def test_an_infinity_that_came_in_goes_out():
    broken = torch.tensor([float("inf"), float("nan"), 1.0, float("-inf")], dtype=torch.float16)
    product, saturated = safe_gate(broken, torch.full_like(broken, 2.0), "identity")
    assert product[0].isposinf()
    assert product[1].isnan()
    assert product[2] == 2
    assert product[3].isneginf()
    assert saturated.item() == 0


def test_a_product_beyond_float32_itself_is_held():
    huge = torch.full((2,), 1e30, dtype=torch.bfloat16)
    product, saturated = safe_gate(huge, huge, "identity")
    assert product.isfinite().all()
    assert saturated.item() == 2


def test_the_module_counts_over_its_calls_until_it_is_reset():
    gate = GatedProduct("identity")
    sides = torch.tensor([300.0, 1.0, 1.0, 1.0], dtype=torch.float16)
    gate(sides, sides)
    gate(sides.flip(0), torch.ones_like(sides))
    assert (gate.saturated.item(), gate.seen.item()) == (1, 8)
    assert gate.saturated_share().item() == pytest.approx(1 / 8)
    gate.reset()
    assert gate.saturated_share().item() == 0


def test_counting_needs_no_gradient_and_leaves_no_trace_in_checkpoints():
    gate = GatedProduct()
    a, b = (branch.requires_grad_() for branch in branches(300, torch.float16))
    gate(a, b).float().mean().backward()
    assert not gate.saturated.requires_grad
    assert not gate.state_dict()
    GatedProduct().load_state_dict(gate.state_dict())
    assert gate.half().saturated.dtype == torch.int64


def test_first_and_second_derivatives_are_right():
    a, b = (torch.linspace(-2, 2, 6, dtype=torch.float64, requires_grad=True) for _ in range(2))
    function = lambda x, y: safe_gate(x, y, limit=2.5).product  # noqa: E731
    assert torch.autograd.gradcheck(function, (a, b))
    assert torch.autograd.gradgradcheck(function, (a, b))


def test_an_empty_batch_stays_empty():
    product, saturated = safe_gate(torch.ones(0, 3), torch.ones(0, 3))
    assert product.shape == (0, 3)
    assert saturated.item() == 0
    assert GatedProduct().saturated_share().item() == 0


def test_what_cannot_be_gated_is_said_so():
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3,\)"):
        safe_gate(torch.ones(2), torch.ones(3))
    with pytest.raises(TypeError, match="int64"):
        safe_gate(torch.ones(2), torch.ones(2, dtype=torch.int64))
    with pytest.raises(ValueError, match="'tanhshrink'; give one of gelu"):
        GatedProduct("tanhshrink")
    with pytest.raises(ValueError, match="limit -1"):
        GatedProduct(limit=-1)


def test_its_description_says_what_holds_it_back():
    assert repr(GatedProduct("silu")) == "GatedProduct(silu, scale=1, limit=that of the type)"
    assert repr(GatedProduct(limit=4096)) == "GatedProduct(gelu, scale=1, limit=4096)"


def test_torch_compile_takes_it_as_one_graph_and_it_counts():
    torch.compiler.reset()
    gate = GatedProduct()
    a, b = branches(300)
    with torch.autocast("cpu", dtype=torch.float16):
        compiled = torch.compile(gate, fullgraph=True, backend="eager")(a, b)
        expected, saturated = safe_gate(a, b)
    assert torch.equal(compiled, expected)
    assert gate.saturated.item() == saturated.item() > 0


def test_the_device_is_never_waited_for():
    with NoWaiting():
        GatedProduct()(*branches(300, torch.float16))


def test_the_example_on_the_page_runs():
    assert run_example("gated_product").startswith("tensor(True) tensor(")
