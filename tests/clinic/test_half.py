"""CUDA's half precision on a CPU: the same overflow at the same places."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope.clinic.cases.deblur_fft.half import emulated_half  # noqa: E402

LARGEST = 65504.0


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
        yield


def test_a_transform_of_halves_is_rounded_and_infinite_above_the_largest_half() -> None:
    x = patches(spread=5000.0)
    with emulated_half("cpu"):
        given = torch.view_as_real(torch.fft.rfft2(x)).numpy()
    true = np.fft.rfft2(x.numpy().astype(np.float64))
    expected = np.stack([true.real, true.imag], axis=-1)
    too_large = np.abs(expected) > LARGEST + 16  # half of the distance between two halves there
    assert given.dtype == np.float16
    assert 0 < too_large.sum() < too_large.size
    assert np.array_equal(np.isinf(given), too_large)
    fine = ~too_large
    assert np.allclose(given[fine], expected[fine], rtol=2**-10, atol=2**-10 * 5000)


def test_a_transform_back_overflows_before_it_is_scaled() -> None:
    spectrum = torch.zeros(2, 8, 5, dtype=torch.complex64)
    spectrum[0, 0, 0] = 60000.0
    spectrum[1, 0, 0] = spectrum[1, 1, 0] = 40000.0
    with emulated_half("cpu"):
        given = torch.fft.irfft2(spectrum.to(torch.complex32), s=(8, 8))
    # 60000 / 64 in every pixel; the other patch has 80000 / 64 in its first row, and 80000 is no half.
    assert given.dtype == torch.float16
    assert torch.allclose(given[0].float(), torch.full((8, 8), 937.5))
    assert torch.isinf(given[1, 0]).all()
    assert torch.isfinite(given[1, 4]).all()


def test_an_orthonormal_transform_is_scaled_both_ways() -> None:
    x = patches(spread=1.0)
    with emulated_half("cpu"):
        spectrum = torch.fft.rfft2(x, norm="ortho")
        back = torch.fft.irfft2(spectrum, s=(8, 8), norm="ortho")
    true = np.fft.rfft2(x.numpy().astype(np.float64), norm="ortho")
    assert np.allclose(torch.view_as_real(spectrum)[..., 0].numpy(), true.real, atol=0.01)
    assert torch.allclose(back.float(), x.float(), atol=0.01)


def test_a_product_of_spectra_is_formed_in_float_and_rounded_once() -> None:
    x = torch.tensor([300 + 290j, 300 + 300j]).to(torch.complex32)
    with emulated_half("cpu"):
        given = torch.view_as_real(x * x)
    # 300^2 and 290^2 are no halves, their difference is; 2 * 300 * 290 is not.
    assert given[0].tolist() == [5900.0, float("inf")]
    assert given[1].tolist() == [0.0, float("inf")]


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_gradients_are_those_of_exact_numbers_up_to_rounding(norm: str | None) -> None:
    q, k = patches(1.0), patches(1.0, seed=1)
    weights = patches(1.0, seed=2)

    def matches(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        product = torch.fft.rfft2(q, norm=norm) * torch.fft.rfft2(k, norm=norm)
        return torch.fft.irfft2(product, s=(8, 8), norm=norm)

    halves = [q.clone().requires_grad_(), k.clone().requires_grad_()]
    exact = [q.double().requires_grad_(), k.double().requires_grad_()]
    with emulated_half("cpu"):
        (matches(*halves) * weights).float().sum().backward()
    (matches(*exact) * weights).sum().backward()
    for half, true in zip(halves, exact, strict=True):
        assert half.grad is not None
        assert half.grad.dtype == torch.float16
        assert true.grad is not None
        assert torch.allclose(half.grad.double(), true.grad, atol=0.01 * float(true.grad.abs().max()))


def test_a_gradient_that_is_too_large_for_half_is_infinite() -> None:
    spectrum = torch.ones(1, 8, 5, dtype=torch.complex32).requires_grad_()
    with emulated_half("cpu"):
        torch.fft.irfft2(spectrum, s=(8, 8)).backward(torch.full((1, 8, 8), 2000.0).half())
    gradient = torch.view_as_real(spectrum.grad)
    # The sum of 64 gradients of 2000 is 128000, which is infinite before it is divided by 64.
    assert torch.isinf(gradient[0, 0, 0, 0])


def test_a_convolution_is_that_of_the_processor_in_half() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(4, 8, 3, padding=1)
    x = torch.randn(2, 4, 8, 8)
    with torch.amp.autocast("cpu", dtype=torch.float16):
        true = layer(x)
    with emulated_half("cpu"), torch.amp.autocast("cpu"):
        given = layer(x)
    assert given.dtype == true.dtype == torch.float16
    assert torch.allclose(given.float(), true.float(), rtol=2**-9, atol=2**-9)
    given.backward(torch.full_like(given, 1000.0))
    assert layer.bias.grad is not None
    assert layer.bias.grad.dtype == torch.float32
    # 128 pixels of 1000 each are no half.
    assert torch.isinf(layer.bias.grad).all()


def test_other_precisions_are_left_alone() -> None:
    layer, x = torch.nn.Conv2d(1, 1, 1), torch.ones(1, 1, 8, 8)
    with emulated_half("cpu"):
        assert layer(x).dtype == torch.float32
        assert torch.fft.rfft2(x).dtype == torch.complex64
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
        with torch.amp.autocast("cpu"), torch.amp.autocast("cpu", enabled=False):
            assert layer(x).dtype == torch.float32
    with torch.amp.autocast("cpu"):
        assert layer(x).dtype == torch.bfloat16


def patches(spread: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (spread * torch.randn(4, 8, 8, generator=generator)).half()
