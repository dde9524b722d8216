"""Functions of torch on arrays that the walk's list lacks, or that need what only an experiment has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute, TooLarge

Array = np.ndarray[Any, Any]

LARGEST_MATRIX = 256  # of one that is taken apart


def softmax(x: Array, dim: int | None = None, **_: Any) -> Array:
    """The softmax along an axis; a row of which nothing is left gives NaN, as in torch."""
    axis = -1 if dim is None else dim
    with np.errstate(all="ignore"):
        raised = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return np.asarray(raised / raised.sum(axis=axis, keepdims=True))


def gelu(x: Array, **_: Any) -> Array:
    """A smooth stand-in that is exact to a few percent."""
    return np.asarray(x / (1 + np.exp(-1.702 * np.clip(x, -200, 200))))


def silu(x: Array, **_: Any) -> Array:
    return np.asarray(x / (1 + np.exp(-np.clip(x, -500, 500))))


def gated(x: Array, dim: int = -1) -> Array:
    """Half of the channels times the sigmoid of the others."""
    content, gate = np.split(x, 2, dim)
    return np.asarray(content / (1 + np.exp(-gate)))


def leaky(x: Array, negative_slope: float = 0.01, **_: Any) -> Array:
    return np.where(x > 0, x, negative_slope * x)


def elu(x: Array, **_: Any) -> Array:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def attended(q: Array, k: Array, v: Array, hidden: Array | None, scale: float | None = None) -> Array:
    """Attention; `hidden` is added to the scores."""
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (scale if scale else q.shape[-1] ** -0.5)
    if hidden is not None:
        scores = scores + hidden
    return np.asarray(np.matmul(softmax(scores), v))


def as_addend(mask: Any, true_hides: bool) -> Array | None:
    """A mask as what is added to scores."""
    if mask is None:
        return None
    given: Array = np.asarray(mask)
    if given.dtype != bool:
        return given
    return np.where(given if true_hides else ~given, -np.inf, 0.0)


def future(length: int, other: int | None = None) -> Array:
    """What hides later places."""
    return np.triu(np.full((length, other or length), -np.inf), 1)


def attention(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Any = None,
    dropout_p: Any = 0.0,
    is_causal: Any = False,
    **o: Any,
) -> Array:
    """scaled_dot_product_attention."""
    hidden = as_addend(attn_mask, true_hides=False)
    if is_causal:
        hidden = future(q.shape[-2], k.shape[-2])
    if o.get("enable_gqa"):
        times = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, times, -3), np.repeat(v, times, -3)
    return attended(q, k, v, hidden, o.get("scale"))


def convolved(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Array:
    """A convolution over as many axes as the weight has behind its first two."""
    n = weight.ndim - 2
    if x.ndim != n + 2:
        raise CannotCompute("no batch of this kind")
    stride, dilation = per_axis(stride, n), per_axis(dilation, n)
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if padding == "same":
        pads = [(r // 2, r - r // 2) for r in reach]
    else:
        pads = [(p, p) for p in per_axis(0 if padding == "valid" else padding, n)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    windows = np.lib.stride_tricks.sliding_window_view(x, [r + 1 for r in reach], axis=tuple(range(2, 2 + n)))
    steps = tuple(slice(None, None, s) for s in stride)
    holes = tuple(slice(None, None, d) for d in dilation)
    windows = windows[(slice(None), slice(None), *steps, *holes)]
    if windows.size * weight.shape[0] / groups > 400 * LARGEST:
        raise TooLarge("the convolution is too large")
    if x.shape[1] != groups * weight.shape[1]:
        raise CannotCompute("the channels do not fit")
    parts = [
        np.tensordot(w, k, axes=([1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]))
        for w, k in zip(np.split(windows, groups, 1), np.split(weight, groups, 0), strict=True)
    ]
    result = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    return result if bias is None else result + np.reshape(bias, (1, -1, *[1] * n))


def convolved_back(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, extra: Any, groups: int
) -> Array:
    """A transposed convolution."""
    n = weight.ndim - 2
    stride, padding, extra = per_axis(stride, n), per_axis(padding, n), per_axis(extra, n)
    spread = np.zeros(
        (*x.shape[:2], *(s * (size - 1) + 1 for s, size in zip(stride, x.shape[2:], strict=True)))
    )
    spread[(slice(None), slice(None), *(slice(None, None, s) for s in stride))] = x
    margins = [(k - 1 - p, k - 1 - p + e) for k, p, e in zip(weight.shape[2:], padding, extra, strict=True)]
    if any(low < 0 or high < 0 for low, high in margins):
        raise CannotCompute("more padding than kernel")
    spread = np.pad(spread, [(0, 0), (0, 0), *margins])
    turned = np.flip(weight, tuple(range(2, 2 + n)))
    parts = [np.swapaxes(part, 0, 1) for part in np.split(turned, groups, 0)]
    return convolved(spread, np.concatenate(parts, 0), bias, 1, 0, 1, groups)


def per_axis(value: Any, n: int) -> tuple[int, ...]:
    if isinstance(value, list | tuple):
        return tuple(int(v) for v in value)
    return (int(value),) * n


def pooled(x: Array, n: int, size: Any, stride: Any, padding: Any, function: Callable[..., Any]) -> Array:
    """Pooling over the last `n` axes."""
    size = per_axis(size, n)
    stride = per_axis(stride, n) if stride is not None else size
    fill = 0.0 if function is np.mean else -np.inf
    pads = [(0, 0)] * (x.ndim - n) + [(p, p) for p in per_axis(padding, n)]
    x = np.pad(x, pads, constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=tuple(range(x.ndim - n, x.ndim)))
    whole = [slice(None)] * (x.ndim - n)
    steps = [slice(None, None, s) for s in stride]
    return np.asarray(function(windows[(*whole, *steps)], axis=tuple(range(-n, 0))))


def adaptive(x: Array, n: int, size: Any, function: Callable[..., Any]) -> Array:
    """Pooling to a size."""
    wanted = size if isinstance(size, list | tuple) else (size,) * n
    for axis, count in zip(range(x.ndim - n, x.ndim), wanted, strict=True):
        have = x.shape[axis]
        count = have if count is None else int(count)
        edges = [(i * have // count, -(-(i + 1) * have // count)) for i in range(count)]
        pieces = [function(np.take(x, range(a, b), axis), axis=axis, keepdims=True) for a, b in edges]
        x = np.concatenate(pieces, axis)
    return x


def resized(x: Array, size: Any = None, scale_factor: Any = None, **_: Any) -> Array:
    """Nearest neighbours, whatever the mode: what matters is where things end up."""
    n = x.ndim - 2
    if size is None:
        factors = scale_factor if isinstance(scale_factor, list | tuple) else (scale_factor,) * n
        size = [int(s * f) for s, f in zip(x.shape[2:], factors, strict=True)]
    for axis, wanted in enumerate(per_axis(size, n), 2):
        x = np.take(x, np.arange(wanted) * x.shape[axis] // wanted, axis)
    return x


def standardised(x: Array, axes: Sequence[int], eps: float) -> Array:
    mean = x.mean(tuple(axes), keepdims=True)
    return np.asarray((x - mean) / np.sqrt(x.var(tuple(axes), keepdims=True) + eps))


def layer_norm(x: Array, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    count = len(shape) if isinstance(shape, list | tuple) else 1
    wanted = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if x.shape[-count:] != tuple(int(w) for w in wanted):
        raise CannotCompute("the shape does not fit")
    x = standardised(x, range(-count, 0), eps)
    x = x * weight if weight is not None else x
    return x + bias if bias is not None else x


def group_norm(x: Array, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    parted = x.reshape(x.shape[0], int(groups), -1)
    x = standardised(parted, [2], eps).reshape(x.shape)
    along = (1, -1, *[1] * (x.ndim - 2))
    x = x * np.reshape(weight, along) if weight is not None else x
    return x + np.reshape(bias, along) if bias is not None else x


def padded(x: Array, pad: Sequence[int], mode: str = "constant", value: Any = 0.0) -> Array:
    """torch.nn.functional.pad; a negative number cuts off."""
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(int(a), int(b)) for a, b in _pairs(pad)][::-1]
    cut = tuple(slice(-a if a < 0 else None, b if b < 0 else None) for a, b in widths)
    names: dict[str, Literal["reflect", "edge", "wrap"]]
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    grown = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        return np.pad(x[cut], grown, constant_values=value or 0)
    return np.pad(x[cut], grown, mode=names[mode])


def _pairs(pad: Sequence[int]) -> list[tuple[int, int]]:
    return [pair for place, pair in enumerate(pairwise(pad)) if place % 2 == 0]


def index_add(x: Array, dim: int, index: Any, source: Any, **_: Any) -> Array:
    result = np.array(x)
    moved = np.moveaxis(result, dim, 0)
    np.add.at(moved, np.asarray(index).astype(np.int64), np.moveaxis(np.asarray(source), dim, 0))
    return result


def scatter_add(x: Array, dim: int, index: Any, source: Any, **_: Any) -> Array:
    result, index = np.array(x), np.asarray(index).astype(np.int64)
    places = list(np.indices(index.shape))
    places[dim] = index
    np.add.at(result, tuple(places), np.asarray(source)[tuple(slice(s) for s in index.shape)])
    return result


def nonzero(x: Array, as_tuple: bool = False) -> Any:
    """The places of what is not zero, axis by axis or as rows."""
    places = np.nonzero(x)
    return tuple(places) if as_tuple else np.stack(places, axis=-1)


def topk(x: Array, k: int, dim: int = -1, **_: Any) -> tuple[Array, Array]:
    order = np.take(np.argsort(-x, axis=dim, kind="stable"), range(int(k)), axis=dim)
    return np.take_along_axis(x, order, dim), order


def in_order(x: Array, dim: int = -1, descending: Any = False, **_: Any) -> tuple[Array, Array]:
    order = np.argsort(-x if descending else x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


def arange(*bounds: Any, **_: Any) -> Array:
    if any(abs(bound) > LARGEST for bound in bounds):
        raise TooLarge("the range is too long")
    return np.arange(*bounds)


def repeat_interleave(x: Array, repeats: Any, dim: int | None = None, **_: Any) -> Array:
    if np.size(repeats) == 1 and x.size * int(repeats) > LARGEST:
        raise TooLarge("the array is too large")
    return np.repeat(x, np.asarray(repeats).astype(np.int64), dim)


def shuffled_up(x: Array, r: int) -> Array:
    """pixel_shuffle."""
    b, c, h, w = x.shape
    x = x.reshape(b, c // r**2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(b, c // r**2, h * r, w * r)


def shuffled_down(x: Array, r: int) -> Array:
    b, c, h, w = x.shape
    return (
        x.reshape(b, c, h // r, r, w // r, r)
        .transpose(0, 1, 3, 5, 2, 4)
        .reshape(b, c * r * r, h // r, w // r)
    )


def as_complex(x: Array) -> Array:
    return np.asarray(x[..., 0] + 1j * x[..., 1])


def small(x: Array) -> Array:
    """A matrix that is taken apart in no time."""
    if x.shape[-1] > LARGEST_MATRIX:
        raise TooLarge("the matrix is too large")
    return x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": lambda x: np.arccos(np.clip(x, -1, 1)),
    "asin": lambda x: np.arcsin(np.clip(x, -1, 1)),
    "atan": np.arctan,
    "qr": lambda x, *_, **__: tuple(np.linalg.qr(small(x))),
    "inverse": lambda x: np.linalg.inv(small(x)),
    "inv": lambda x: np.linalg.inv(small(x)),
    "det": lambda x: np.asarray(np.linalg.det(small(x))),
    "slogdet": lambda x: tuple(map(np.asarray, np.linalg.slogdet(small(x)))),
    "logdet": lambda x: np.asarray(np.linalg.slogdet(small(x))[1]),
    "cholesky": lambda x: np.linalg.cholesky(small(x)),
    "arange": arange,
    "softmax": softmax,
    "gelu": gelu,
    "silu": silu,
    "mish": silu,
    "hardswish": silu,
    "leaky_relu": leaky,
    "elu": elu,
    "selu": elu,
    "celu": elu,
    "relu6": lambda x, **_: np.clip(x, 0, 6),
    "hardtanh": lambda x, *_, **__: np.clip(x, -1, 1),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "erf": lambda x: np.tanh(1.13 * x),
    "scaled_dot_product_attention": attention,
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "instance_norm": lambda x, **_: standardised(x, range(2, x.ndim), 1e-5),
    "interpolate": resized,
    "pad": padded,
    "tril": lambda x, diagonal=0: np.tril(x, diagonal),
    "triu": lambda x, diagonal=0: np.triu(x, diagonal),
    "roll": lambda x, shifts, dims=None: np.roll(x, shifts, tuple(dims) if isinstance(dims, list) else dims),
    "index_add": index_add,
    "scatter_add": scatter_add,
    "bincount": lambda x, weights=None, minlength=0: np.bincount(x.astype(np.int64), weights, int(minlength)),
    "topk": topk,
    "nonzero": nonzero,
    "sort": in_order,
    "argsort": lambda x, dim=-1, descending=False, **_: in_order(x, dim, descending)[1],
    "repeat_interleave": repeat_interleave,
    "bitwise_or": np.logical_or,
    "bitwise_not": np.logical_not,
    "bitwise_and": np.logical_and,
    "broadcast_to": lambda x, shape: np.broadcast_to(x, tuple(shape)),
    "tensordot": lambda a, b, dims=2: np.tensordot(a, b, dims),
    "baddbmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.matmul(a, b),
    "addmm": lambda x, a, b, **_: x + np.matmul(a, b),
    "linear": lambda x, weight, bias=None: x @ weight.T + (0 if bias is None else bias),
    "embedding": lambda x, weight, *_, **__: weight[x.astype(np.int64)],
    "conv1d": lambda x, w, b=None, stride=1, padding=0, dilation=1, groups=1: convolved(
        x, w, b, stride, padding, dilation, groups
    ),
    "conv2d": lambda x, w, b=None, stride=1, padding=0, dilation=1, groups=1: convolved(
        x, w, b, stride, padding, dilation, groups
    ),
    "adaptive_avg_pool1d": lambda x, size: adaptive(x, 1, size, np.mean),
    "adaptive_avg_pool2d": lambda x, size: adaptive(x, 2, size, np.mean),
    "adaptive_max_pool1d": lambda x, size: adaptive(x, 1, size, np.max),
    "adaptive_max_pool2d": lambda x, size: adaptive(x, 2, size, np.max),
    **{
        f"{kind}_pool{n}d": (
            lambda x, kernel_size, stride=None, padding=0, n=n, function=function, **_: pooled(
                x, n, kernel_size, stride, padding, function
            )
        )
        for n in (1, 2, 3)
        for kind, function in (("avg", np.mean), ("max", np.max))
    },
    "pixel_shuffle": shuffled_up,
    "pixel_unshuffle": shuffled_down,
    "view_as_complex": as_complex,
    "polar": lambda size, angle: size * np.exp(1j * angle),
    "view_as_real": lambda x: np.stack([x.real, x.imag], -1),
    "fft.irfft": lambda x, n=None, dim=-1, **_: np.fft.irfft(x, n, dim),
    "fft.irfft2": lambda x, s=None, **_: np.fft.irfft2(x, s),
    "fft.ifft": lambda x, n=None, dim=-1, **_: np.fft.ifft(x, n, dim),
    "meshgrid": lambda *x, indexing="ij": tuple(np.meshgrid(*x, indexing=indexing)),
    "empty_like": lambda x, **_: np.zeros(x.shape),
    "empty": lambda *sizes, **_: np.zeros(tuple(sizes[0]) if isinstance(sizes[0], list | tuple) else sizes),
    "glu": gated,
    "isclose": np.isclose,
    "logsigmoid": lambda x: -np.logaddexp(0, -x),
    "erfinv": lambda x: x,
    "dropout": lambda x, *_, **__: x,
    "dropout2d": lambda x, *_, **__: x,
    "dropout1d": lambda x, *_, **__: x,
    "masked_softmax": softmax,
    "stack": lambda tensors, dim=0, **_: np.stack([np.asarray(t) for t in tensors], axis=dim),
}
