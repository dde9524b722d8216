"""CUDA's float16 autocast on a CPU: rounding where a GPU rounds, infinity above 65504.

A CPU's own float16 autocast differs from CUDA's in what matters here: it computes Fourier transforms in
float32. `emulated_half` makes `torch.amp.autocast("cpu")` behave as on CUDA for what this project computes:

- convolutions take float16, add up in float32 and round what they give to float16, both ways;
- transforms of float16 give complex32. cuFFT scales behind the transform, so a sum that is too large is
  infinite before it could be scaled down. The same holds for the gradients;
- products of complex32 are formed in float32 and rounded once.

Everything else (products, gates, means, variances) is done by torch on real float16 tensors, which computes
each element in float32 and rounds it, on both devices. bfloat16 and float32 are left alone. Whether it is
what a GPU does is checked by `compare_half.py` of the case deblur-fft-overflow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


@contextmanager
def emulated_half(device: str) -> Iterator[None]:
    """Let autocast mean CUDA's float16 inside this block; on CUDA it does already."""
    if device != "cpu":
        yield
        return
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        with warnings.catch_warnings(), _AsOnCuda():
            warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
            yield
    finally:
        torch.set_autocast_dtype("cpu", before)


class _AsOnCuda(TorchFunctionMode):
    """Replaces the functions that a CPU computes in another precision than CUDA."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        replaced = _REPLACED.get(func)
        given = kwargs or {}
        if replaced is None:
            return func(*args, **given)
        return replaced(func, *args, **given)


def _convolve(
    func: Callable[..., Tensor],
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *rest: Any,
    **options: Any,
) -> Tensor:
    if not torch.is_autocast_enabled("cpu") or torch.get_autocast_dtype("cpu") != torch.float16:
        return func(x, weight, bias, *rest, **options)
    with torch.autocast("cpu", enabled=False):
        # float() of float16 loses nothing forward and rounds the gradient backward.
        operands = [part if part is None else part.half().float() for part in (x, weight, bias)]
        return func(*operands, *rest, **options).half()


def _rfft2(
    func: Callable[..., Tensor],
    x: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    if x.dtype != torch.float16:
        return func(x, s, dim, norm)
    if s is not None:
        raise ValueError("a transform in emulated half precision takes whole patches, without `s`")
    _check(dim)
    factor = _factor(x.shape[-2] * x.shape[-1], norm, inverse=False)
    apply: Any = _HalfRfft2.apply
    return cast(Tensor, apply(x, factor))


def _irfft2(
    func: Callable[..., Tensor],
    x: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    if x.dtype != torch.complex32:
        return func(x, s, dim, norm)
    _check(dim)
    rows, columns = s if s is not None else (x.shape[-2], 2 * (x.shape[-1] - 1))
    factor = _factor(rows * columns, norm, inverse=True)
    apply: Any = _HalfIrfft2.apply
    return cast(Tensor, apply(x, (rows, columns), factor))


def _multiply(func: Callable[..., Tensor], x: Any, y: Any) -> Tensor:
    if all(isinstance(part, Tensor) and part.dtype == torch.complex32 for part in (x, y)):
        apply: Any = _HalfProduct.apply
        return cast(Tensor, apply(x, y))
    return func(x, y)


_REPLACED: dict[Any, Callable[..., Tensor]] = {
    torch.conv2d: _convolve,
    torch.fft.rfft2: _rfft2,
    torch.fft.irfft2: _irfft2,
    torch.mul: _multiply,
    torch.Tensor.mul: _multiply,
    torch.Tensor.__mul__: _multiply,
}


class _HalfRfft2(torch.autograd.Function):
    """A real transform of float16, and its gradient, as cuFFT does them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor, ctx.width = factor, x.shape[-1]
        return _scaled(torch.fft.rfft2(x.float()).to(torch.complex32), factor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        # The left-out half of the spectrum has no gradient of its own.
        missing = ctx.width - grad.shape[-1]
        whole = torch.nn.functional.pad(grad.to(torch.complex64), (0, missing))
        unscaled = torch.fft.ifft2(whole, norm="forward").to(torch.complex32)
        return _scaled(torch.view_as_real(unscaled)[..., 0], ctx.factor), None


class _HalfIrfft2(torch.autograd.Function):
    """A transform of complex32 back to float16, and its gradient, as cuFFT does them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, s: tuple[int, int], factor: float) -> Tensor:
        ctx.factor = factor
        return _scaled(torch.fft.irfft2(x.to(torch.complex64), s=s, norm="forward").half(), factor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        spectrum = _scaled(torch.fft.rfft2(grad.float()).to(torch.complex32), ctx.factor)
        # Every coefficient but the first and the last column stands for two.
        twice = torch.view_as_real(spectrum)[..., 1 : grad.shape[-1] - spectrum.shape[-1] + 1, :]
        twice.mul_(2)
        return spectrum, None, None


class _HalfProduct(torch.autograd.Function):
    """A product of complex32: formed in float32, rounded once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return _product(x, y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return _product(grad, y.conj()), _product(grad, x.conj())


def _product(x: Tensor, y: Tensor) -> Tensor:
    return (x.to(torch.complex64) * y.to(torch.complex64)).to(torch.complex32)


def _check(dim: Sequence[int]) -> None:
    if tuple(dim) != (-2, -1):
        raise ValueError("a transform in emulated half precision goes over the last two dimensions")


def _factor(elements: int, norm: str | None, inverse: bool) -> float:
    """What a transform is multiplied by when it is done."""
    if norm == "ortho":
        return float(elements**-0.5)
    scaled = (norm == "forward") != inverse
    return 1 / elements if scaled else 1.0


def _scaled(x: Tensor, factor: float) -> Tensor:
    if factor == 1.0:
        return x
    if not x.is_complex():
        return x * factor
    return torch.view_as_complex(torch.view_as_real(x) * factor)
