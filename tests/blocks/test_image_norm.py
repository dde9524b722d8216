"""Norms of images are those of torch, in every precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks.image_norm import ImageLayerNorm, ImageRMSNorm, image_layer_norm, image_rms_norm
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

HALVES = [torch.float16, torch.bfloat16]
WIDE = (2, 192, 4, 4)


def image(std: float = 1.0, mean: float = 0.0, shape: tuple[int, ...] = (2, 24, 5, 3)) -> Tensor:
    return mean + std * torch.randn(shape, generator=torch.Generator().manual_seed(0))


def by_torch(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5) -> Tensor:
    normed = functional.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), weight, bias, eps)
    return normed.permute(0, 3, 1, 2)


def by_hand(x: Tensor, eps: float = 1e-5) -> Tensor:
    """The norm as the deblurring system wrote it: everything in the type of the input."""
    return (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + eps)


@pytest.mark.parametrize(("std", "mean"), [(1, 0), (1e-3, 0), (300, -20), (0.1, 5)])
def test_layer_norm_is_that_of_torch_on_channels_last(std: float, mean: float):
    x, weight, bias = image(std, mean), torch.linspace(0.5, 2, 24), torch.linspace(-1, 1, 24)
    exact = by_torch(x.double(), weight.double(), bias.double())
    torch.testing.assert_close(image_layer_norm(x, weight, bias).double(), exact, rtol=0, atol=5e-5)
    torch.testing.assert_close(image_layer_norm(x, eps=0.1), by_torch(x, None, None, eps=0.1))


def test_rms_norm_is_that_of_torch_on_channels_last():
    x, weight = image(3, 1), torch.linspace(0.5, 2, 24)
    expected = functional.rms_norm(x.permute(0, 2, 3, 1), (24,), weight, 1e-5).permute(0, 3, 1, 2)
    torch.testing.assert_close(image_rms_norm(x, weight), expected)
    ones = image_rms_norm(x).square().mean(1)
    torch.testing.assert_close(ones, torch.ones_like(ones), rtol=1e-4, atol=0)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("std", [1e-3, 1.0, 300.0, 8000.0])
def test_half_images_have_the_right_norm_and_keep_their_type(dtype: torch.dtype, std: float):
    x = image(std).to(dtype)
    exact = by_torch(x.double(), None, None)
    rounding = {"rtol": torch.finfo(dtype).eps, "atol": 1e-3}
    with torch.autocast("cpu", dtype=dtype):
        normed = image_layer_norm(x)
    assert normed.dtype == dtype
    torch.testing.assert_close(normed.double(), exact, **rounding)
    exact = functional.rms_norm(x.double().movedim(1, -1), (24,), None, 1e-5).movedim(-1, 1)
    torch.testing.assert_close(image_rms_norm(x).double(), exact, **rounding)


def test_where_the_half_norm_written_by_hand_goes_silent_this_one_does_not():
    x = image(300, shape=WIDE).half()
    assert x.float().var(1, unbiased=False).min() > 65504
    assert by_hand(x).abs().max() == 0
    normed = image_layer_norm(x).float()
    assert normed.var(1, unbiased=False).sub(1).abs().max() < 1e-2


def test_the_gradient_at_a_small_spread_is_finite_and_right():
    small = image(1e-3, shape=WIDE).half()
    upstream = torch.randn(WIDE, generator=torch.Generator().manual_seed(5)).half()
    (broken,) = _gradient(by_hand, small, upstream)
    assert (~broken.isfinite()).float().mean() > 0.5
    (found,) = _gradient(image_layer_norm, small, upstream)
    (exact,) = _gradient(lambda x: by_torch(x, None, None), small.double(), upstream.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-3, atol=1e-2)


def _gradient(norm, x: Tensor, upstream: Tensor) -> tuple[Tensor, ...]:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(norm(x), x, upstream)


def test_float32_stays_float32_under_autocast():
    x = image()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        normed = image_layer_norm(x)
    assert normed.dtype == torch.float32
    assert torch.equal(normed, image_layer_norm(x))


@pytest.mark.parametrize("norm", [image_layer_norm, image_rms_norm])
def test_first_and_second_derivatives_are_right(norm):
    x = image(shape=(1, 3, 2, 1)).double().requires_grad_()
    weight = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, (x, weight))
    assert torch.autograd.gradgradcheck(norm, (x, weight))


@pytest.mark.parametrize(
    ("x", "weight", "message"),
    [
        (torch.ones(3, 4), None, r"\(N, C, H, W\)"),
        (torch.ones(1, 0, 2, 2), None, "images with channels"),
        (torch.ones(1, 3, 2, 2, dtype=torch.int64), None, "int64"),
        (torch.ones(1, 3, 2, 2), torch.ones(4), "3 channels"),
    ],
)
def test_what_cannot_be_normed_is_said_so(x: Tensor, weight: Tensor | None, message: str):
    for norm in (image_layer_norm, image_rms_norm):
        with pytest.raises((ValueError, TypeError), match=message):
            norm(x, weight)


def test_an_empty_batch_stays_empty():
    assert image_layer_norm(torch.ones(0, 3, 2, 2)).shape == (0, 3, 2, 2)


@pytest.mark.parametrize("module", [ImageLayerNorm, ImageRMSNorm])
def test_state_dict_round_trips_and_a_halved_module_still_has_float32_statistics(module: type[nn.Module]):
    source, target = module(24), module(24)
    nn.init.uniform_(source.weight)
    target.load_state_dict(source.state_dict())
    x = image(300).half()
    assert torch.equal(source(x), target(x))
    torch.testing.assert_close(target.half()(x), source(x), rtol=2e-3, atol=2e-3)


def test_weights_of_torchs_own_layer_norm_can_be_loaded():
    torch_norm, norm = nn.LayerNorm(24), ImageLayerNorm(24)
    nn.init.uniform_(torch_norm.weight)
    norm.load_state_dict(torch_norm.state_dict())
    x = image()
    torch.testing.assert_close(norm(x), torch_norm(x.movedim(1, -1)).movedim(-1, 1))


def test_without_a_bias_there_is_none():
    assert list(ImageLayerNorm(3, bias=False).state_dict()) == ["weight"]
    assert repr(ImageLayerNorm(3, bias=False)) == "ImageLayerNorm(3, eps=1e-05, bias=False)"
    assert repr(ImageRMSNorm(3, eps=1e-6)) == "ImageRMSNorm(3, eps=1e-06)"


def test_torch_compile_takes_it_as_one_graph():
    torch.compiler.reset()
    norm = ImageLayerNorm(24)
    compiled = torch.compile(norm, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(image(300).half()), norm(image(300).half()))


def test_the_device_is_never_waited_for():
    with NoWaiting():
        ImageLayerNorm(24)(image())


def test_the_example_on_the_page_runs():
    assert run_example("image_norm").endswith("torch.float16\n")
