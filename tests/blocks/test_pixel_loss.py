"""Pixel losses are right in every precision and count only what has a weight."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from stethoscope.blocks.pixel_loss import CharbonnierLoss, L1Loss, charbonnier, l1
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

HALVES = [torch.float16, torch.bfloat16]


def pair(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.rand(shape, generator=generator).to(dtype) for _ in range(2))


def test_both_are_the_means_that_numpy_gives():
    prediction, target = pair(2, 3, 5, 7)
    error = prediction.numpy().astype(np.float64) - target.numpy()
    assert l1(prediction, target).item() == pytest.approx(np.abs(error).mean(), rel=1e-6)
    expected = np.sqrt(error**2 + 0.05**2).mean()
    assert charbonnier(prediction, target, eps=0.05).item() == pytest.approx(expected, rel=1e-6)


def test_images_that_are_equal_cost_nothing_in_l1_and_eps_in_charbonnier():
    image = torch.rand(1, 3, 4, 4)
    assert l1(image, image).item() == 0
    assert charbonnier(image, image, eps=0.01).item() == pytest.approx(0.01, rel=1e-6)


def test_a_weighted_mean_is_over_what_counts():
    prediction, target = torch.tensor([[1.0, 5.0, 9.0]]), torch.zeros(1, 3)
    weight = torch.tensor([3.0, 1.0, 0.0])
    assert l1(prediction, target, weight=weight).item() == pytest.approx((3 * 1 + 1 * 5) / 4)
    assert l1(prediction, target, weight=10 * weight).item() == pytest.approx(2.0)


def test_padded_channels_do_not_dilute_the_loss():
    # One real channel with an error of .2 among four, as the diffusion prior had it.
    target = torch.zeros(2, 4, 8, 8)
    prediction = torch.zeros_like(target)
    prediction[:, 0] = 0.2
    mask = torch.tensor([True, False, False, False]).view(1, 4, 1, 1)
    assert l1(prediction, target).item() == pytest.approx(0.05)
    assert l1(prediction, target, weight=mask).item() == pytest.approx(0.2)
    assert charbonnier(prediction, target, weight=mask).item() == pytest.approx(0.2, rel=1e-4)


@pytest.mark.parametrize("loss", [l1, charbonnier])
def test_not_even_a_nan_comes_through_a_weight_of_zero(loss):
    prediction = torch.tensor([[0.5, float("nan"), float("inf")]], requires_grad=True)
    value = loss(prediction, torch.zeros(1, 3), weight=torch.tensor([1.0, 0.0, 0.0]))
    value.backward()
    assert value.item() == pytest.approx(0.5, rel=1e-4)
    torch.testing.assert_close(prediction.grad, torch.tensor([[1.0, 0.0, 0.0]]), rtol=1e-4, atol=0)


@pytest.mark.parametrize("loss", [l1, charbonnier])
def test_where_nothing_counts_loss_and_gradient_are_zero(loss):
    prediction = torch.ones(1, 3, requires_grad=True)
    value = loss(prediction, torch.zeros(1, 3), weight=torch.zeros(3))
    value.backward()
    assert value.item() == 0
    assert torch.equal(prediction.grad, torch.zeros(1, 3))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("loss", [l1, charbonnier])
def test_half_images_are_compared_in_float32(loss, dtype: torch.dtype):
    prediction, target = pair(2, 3, 16, 16, dtype=dtype)
    value = loss(prediction, target, weight=torch.ones(1, dtype=dtype))
    assert value.dtype == torch.float32
    # The rounded images are the truth here, and their comparison is exact.
    assert value.item() == pytest.approx(loss(prediction.double(), target.double()).item(), rel=1e-6)


def test_charbonnier_in_half_has_neither_cliff_nor_overflow():
    dark, white = torch.zeros(1, 4, dtype=torch.float16), torch.full((1, 4), 256.0, dtype=torch.float16)
    assert (white - dark).square().isinf().all()  # what happens without the conversion
    assert charbonnier(white, dark).item() == pytest.approx(256.0)
    same = dark.clone().requires_grad_()
    by_hand = ((same - dark).square() + 1e-12).sqrt().mean()
    (gradient,) = torch.autograd.grad(by_hand, same)
    assert gradient.isnan().all()
    (gradient,) = torch.autograd.grad(charbonnier(same, dark, eps=1e-6), same)
    assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("dtype", HALVES)
def test_autocast_changes_nothing(dtype: torch.dtype):
    prediction, target = pair(1, 3, 8, 8)
    with torch.autocast("cpu", dtype=dtype):
        inside = charbonnier(prediction, target)
    assert torch.equal(inside, charbonnier(prediction, target))


def test_charbonnier_has_first_and_second_derivatives():
    prediction, target = pair(2, 3, dtype=torch.float64)
    prediction.requires_grad_()
    weight = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)
    function = lambda x: charbonnier(x, target, eps=0.1, weight=weight)  # noqa: E731
    assert torch.autograd.gradcheck(function, prediction)
    assert torch.autograd.gradgradcheck(function, prediction)


@pytest.mark.parametrize(
    ("prediction", "target", "message"),
    [
        (torch.ones(2, 3), torch.ones(3), "same shape"),
        (torch.ones(0, 3), torch.ones(0, 3), "holds no pixels"),
        (torch.ones(3), torch.ones(3, dtype=torch.uint8), "target is of torch.uint8"),
    ],
)
def test_what_cannot_be_compared_is_said_so(prediction: Tensor, target: Tensor, message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        l1(prediction, target)


def test_a_weight_that_is_larger_than_the_images_is_refused():
    with pytest.raises(ValueError, match="does not broadcast"):
        l1(torch.ones(1, 3), torch.ones(1, 3), weight=torch.ones(4, 3))
    with pytest.raises(ValueError, match="does not broadcast"):
        l1(torch.ones(1, 3), torch.ones(1, 3), weight=torch.ones(2))


def test_an_eps_of_zero_is_refused():
    with pytest.raises(ValueError, match="take l1"):
        charbonnier(torch.ones(1), torch.ones(1), eps=0)


def test_the_modules_give_the_same_and_have_no_state():
    prediction, target = pair(2, 3, 4, 4)
    assert torch.equal(L1Loss()(prediction, target), l1(prediction, target))
    module = CharbonnierLoss(eps=0.1)
    assert torch.equal(module(prediction, target), charbonnier(prediction, target, eps=0.1))
    assert not module.state_dict()
    assert repr(module) == "CharbonnierLoss(eps=0.1)"


def test_torch_compile_takes_it_as_one_graph():
    torch.compiler.reset()
    prediction, target = pair(2, 3, 4, 4)
    compiled = torch.compile(CharbonnierLoss(), fullgraph=True, backend="eager")
    weight = torch.ones(3, 1, 1)
    torch.testing.assert_close(compiled(prediction, target, weight), charbonnier(prediction, target))


def test_the_device_is_never_waited_for():
    with NoWaiting():
        charbonnier(*pair(2, 3), weight=torch.ones(3))


def test_the_example_on_the_page_runs():
    assert run_example("pixel_loss").count("tensor(0.") == 2
