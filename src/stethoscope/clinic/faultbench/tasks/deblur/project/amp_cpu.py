"""A CPU backend for fp16 autocast.

`torch.autocast("cpu", dtype=torch.float16)` leaves Fourier transforms in float32 and runs convolutions only
where the processor has instructions for them. Inside `fp16()` the network computes as it does on a GPU:

- convolutions take and give float16, and add up in float32;
- `rfft2` and `irfft2` of half precision stay in it (float16 and complex32), scaling behind the sum;
- products of complex32 are rounded once;
- what CUDA's autocast lists as float32 (exp, log, pow, sum, softmax ...) is computed in float32.
"""

import warnings
from contextlib import contextmanager

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")


@contextmanager
def fp16(enabled=True):
    """Autocast to float16 inside this block."""
    if not enabled:
        yield
        return
    with torch.autocast("cpu", dtype=torch.float16), _Backend():
        yield


class _Backend(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _IN_FLOAT32:
            args = [_single(one) for one in args]
        elif func in _IN_HALF:
            return _IN_HALF[func](*args, **kwargs)
        return func(*args, **kwargs)


def _single(x):
    return x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.float16 else x


def _conv2d(x, weight, bias=None, *rest, **options):
    with torch.autocast("cpu", enabled=False):
        # Through float16 and back: what is lost there is lost in the gradient, too.
        x, weight, bias = (one if one is None else one.half().float() for one in (x, weight, bias))
        return torch.conv2d(x, weight, bias, *rest, **options).half()


def _rfft2(x, s=None, dim=(-2, -1), norm=None):
    if x.dtype != torch.float16:
        return torch.fft.rfft2(x, s, dim, norm)
    return _HalfForward.apply(x, _factor(x.shape[-2] * x.shape[-1], norm, inverse=False))


def _irfft2(x, s=None, dim=(-2, -1), norm=None):
    if x.dtype != torch.complex32:
        return torch.fft.irfft2(x, s, dim, norm)
    s = tuple(s) if s is not None else (x.shape[-2], 2 * (x.shape[-1] - 1))
    return _HalfInverse.apply(x, s, _factor(s[0] * s[1], norm, inverse=True))


def _mul(x, y):
    if all(isinstance(one, torch.Tensor) and one.dtype == torch.complex32 for one in (x, y)):
        return _HalfProduct.apply(x, y)
    return torch.mul(x, y)


def _factor(count, norm, inverse):
    if norm == "ortho":
        return count**-0.5
    return 1.0 / count if (norm == "forward") != inverse else 1.0


def _scaled(x, factor):
    if x.is_complex():
        return torch.view_as_complex(torch.view_as_real(x) * factor)
    return x * factor


class _HalfForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor, ctx.columns = factor, x.shape[-1]
        return _scaled(torch.fft.rfft2(x.float()).to(torch.complex32), factor)

    @staticmethod
    def backward(ctx, grad):
        whole = F.pad(grad.to(torch.complex64), (0, ctx.columns - grad.shape[-1]))
        return _scaled(torch.fft.ifft2(whole, norm="forward").real.half(), ctx.factor), None


class _HalfInverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s, factor):
        ctx.factor = factor
        return _scaled(torch.fft.irfft2(x.to(torch.complex64), s=s, norm="forward").half(), factor)

    @staticmethod
    def backward(ctx, grad):
        spectrum = _scaled(torch.fft.rfft2(grad.float()).to(torch.complex32), ctx.factor)
        # All columns but the first and the last stand for two of the whole spectrum.
        torch.view_as_real(spectrum)[..., 1 : grad.shape[-1] - spectrum.shape[-1] + 1, :].mul_(2)
        return spectrum, None, None


class _HalfProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x.to(torch.complex64) * y.to(torch.complex64)).to(torch.complex32)

    @staticmethod
    def backward(ctx, grad):
        x, y = (one.to(torch.complex64).conj() for one in ctx.saved_tensors)
        grad = grad.to(torch.complex64)
        return (grad * y).to(torch.complex32), (grad * x).to(torch.complex32)


_IN_HALF = {
    torch.conv2d: _conv2d,
    torch.fft.rfft2: _rfft2,
    torch.fft.irfft2: _irfft2,
    torch.mul: _mul,
    torch.Tensor.mul: _mul,
    torch.Tensor.__mul__: _mul,
}
_IN_FLOAT32 = {
    *(torch.exp, torch.log, torch.pow, torch.sum, torch.softmax, torch.norm, torch.rsqrt, torch.reciprocal),
    *(getattr(torch.Tensor, name) for name in ("exp", "log", "pow", "sum", "softmax", "norm", "__pow__")),
    *(torch.Tensor.rsqrt, torch.Tensor.reciprocal, F.softmax, F.layer_norm),
}
