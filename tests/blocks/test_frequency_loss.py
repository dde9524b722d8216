"""The frequency loss has one size on every crop and runs in float32."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from stethoscope.blocks.frequency_loss import FrequencyLoss, fft_l1
from stethoscope.blocks.pixel_loss import l1
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

HALVES = [torch.float16, torch.bfloat16]


def noisy(side: int, std: float = 0.02) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(side)
    target = torch.rand(2, 3, side, side, generator=generator)
    return target + std * torch.randn(target.shape, generator=generator), target


def by_numpy(prediction: Tensor, target: Tensor) -> float:
    # Written as in the published loss: both spectra, real and imaginary parts stacked.
    spectra = [np.fft.fft2(image.double().numpy(), norm="ortho") for image in (prediction, target)]
    stacked = [np.stack([spectrum.real, spectrum.imag], axis=-1) for spectrum in spectra]
    return float(np.abs(stacked[0] - stacked[1]).mean())


@pytest.mark.parametrize("shape", [(8, 8), (8, 7), (7, 8), (7, 7), (1, 1), (1, 6), (5, 2), (2, 3, 6, 10)])
def test_half_of_the_spectrum_gives_the_value_of_the_whole(shape: tuple[int, ...]):
    generator = torch.Generator().manual_seed(0)
    prediction, target = (torch.rand(shape, generator=generator) for _ in range(2))
    expected = by_numpy(prediction, target)
    assert fft_l1(prediction, target).item() == pytest.approx(expected, rel=1e-5)
    assert fft_l1(prediction, target, half_spectrum=False).item() == pytest.approx(expected, rel=1e-5)


def test_its_size_does_not_depend_on_the_crop():
    ratios = {side: (fft_l1(*noisy(side)) / l1(*noisy(side))).item() for side in (32, 64, 128)}
    for ratio in ratios.values():
        assert ratio == pytest.approx(
            1 / math.sqrt(2), rel=0.02
        )  # white noise: each part has half the energy
    plain = {side: (_unnormalised(*noisy(side)) / l1(*noisy(side))).item() for side in (32, 64, 128)}
    assert plain[64] / plain[32] == pytest.approx(2, rel=0.03)
    assert plain[128] / plain[64] == pytest.approx(2, rel=0.03)
    assert 0.1 * plain[128] == pytest.approx(9.0, rel=0.02)  # the figure on the page


def _unnormalised(prediction: Tensor, target: Tensor) -> Tensor:
    return torch.view_as_real(torch.fft.fft2(prediction - target)).abs().mean()


def test_an_offset_costs_what_it_does_in_one_coefficient():
    side, offset = 16, 0.25
    image = torch.rand(side, side)
    expected = offset * side / (2 * side * side)  # all in the first coefficient, and its real part alone
    assert fft_l1(image + offset, image).item() == pytest.approx(expected, rel=1e-4)


def test_a_shift_is_an_error_though_magnitudes_are_equal():
    image = torch.rand(1, 16, 16)
    moved = image.roll(1, dims=-1)
    magnitudes = [torch.fft.fft2(each).abs() for each in (image, moved)]
    torch.testing.assert_close(*magnitudes, rtol=1e-4, atol=1e-4)
    assert fft_l1(moved, image).item() > 0.1


@pytest.mark.parametrize("dtype", HALVES)
def test_half_images_are_transformed_in_float32(dtype: torch.dtype):
    ones, zeros = torch.ones(1, 256, 256, dtype=dtype), torch.zeros(1, 256, 256, dtype=dtype)
    with torch.autocast("cpu", dtype=dtype):
        loss = fft_l1(ones, zeros)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(256 / (2 * 256 * 256), rel=1e-6)


@pytest.mark.parametrize("dtype", HALVES)
def test_the_gradient_of_half_images_is_finite_and_right(dtype: torch.dtype):
    prediction, target = (image.to(dtype) for image in noisy(16))
    exact = prediction.double().requires_grad_()
    fft_l1(exact, target.double()).backward()
    prediction.requires_grad_()
    fft_l1(prediction, target).backward()
    assert prediction.grad is not None
    assert exact.grad is not None
    torch.testing.assert_close(prediction.grad.double(), exact.grad, rtol=1e-2, atol=1e-6)


def test_first_and_second_derivatives_are_right():
    generator = torch.Generator().manual_seed(0)
    prediction, target = (torch.rand(1, 4, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    assert torch.autograd.gradcheck(lambda x: fft_l1(x, target), prediction.requires_grad_())
    # The loss is linear between its kinks: a square of it has a second derivative.
    assert torch.autograd.gradgradcheck(lambda x: fft_l1(x, target).square(), prediction)


def test_a_step_down_its_gradient_brings_the_spectra_together():
    prediction, target = noisy(16)
    prediction.requires_grad_()
    before = fft_l1(prediction, target)
    (gradient,) = torch.autograd.grad(before, prediction)
    assert fft_l1(prediction - gradient, target) < before


@pytest.mark.parametrize(
    ("prediction", "target", "message"),
    [
        (torch.ones(4), torch.ones(4), "no image"),
        (torch.ones(1, 4, 4), torch.ones(1, 1, 4, 4), "same shape"),
        (torch.ones(1, 0, 4), torch.ones(1, 0, 4), "holds no pixels"),
        (torch.ones(4, 4, dtype=torch.complex64), torch.ones(4, 4, dtype=torch.complex64), "floating point"),
    ],
)
def test_what_has_no_spectrum_is_said_so(prediction: Tensor, target: Tensor, message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        fft_l1(prediction, target)


def test_the_module_gives_the_same_and_has_no_state():
    prediction, target = noisy(8)
    module = FrequencyLoss(half_spectrum=False)
    assert torch.equal(module(prediction, target), fft_l1(prediction, target, half_spectrum=False))
    assert not module.state_dict()
    assert repr(module) == "FrequencyLoss(half_spectrum=False)"


def test_torch_compile_takes_it_as_one_graph():
    torch.compiler.reset()
    prediction, target = noisy(8)
    compiled = torch.compile(FrequencyLoss(), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(prediction, target), fft_l1(prediction, target))


def test_the_device_is_never_waited_for():
    with NoWaiting():
        fft_l1(*noisy(8))


def test_the_example_on_the_page_runs():
    assert run_example("frequency_loss").startswith("tensor(0.")
