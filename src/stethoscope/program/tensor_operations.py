"""The tensor operations that can be computed without torch: a fixed list of pure functions on numpy arrays.

Names are what the source calls: full outside names ("torch.nn.functional.conv2d") or methods (".mean").
Whatever is not listed is not computed. Arrays are float64; sizes are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Operation = Callable[..., Any]

LARGEST = 2_000_000  # elements of one array


class CannotCompute(Exception):
    """The operation is unknown, or its arguments do not fit."""


def compute(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Apply a listed operation, or raise CannotCompute."""
    operation = METHODS.get(name[1:]) if name.startswith(".") else FUNCTIONS.get(_short(name))
    if operation is None:
        raise CannotCompute(name)
    if "input" in keywords:  # torch's name for the first argument
        args, keywords = (keywords["input"], *args), {k: v for k, v in keywords.items() if k != "input"}
    try:
        with np.errstate(all="ignore"):
            result = operation(*args, **keywords)
    except CannotCompute:
        raise
    except Exception as problem:  # a stranger's shapes and types: whatever numpy says about them
        raise CannotCompute(f"{name}: {problem}") from None
    return checked(result)


def checked(result: Any) -> Any:
    """Give a result back unless it is too large or no number."""
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, np.ndarray) and (result.size > LARGEST or result.dtype == object):
        raise CannotCompute("the array is too large")
    return result


def is_known(name: str) -> bool:
    """Whether an operation is on the list."""
    return name[1:] in METHODS if name.startswith(".") else _short(name) in FUNCTIONS


def _short(name: str) -> str:
    for prefix in (
        "torch.nn.functional.",
        "torch.nn.",
        "torch.linalg.",
        "torch.special.",
        "torch.",
        "numpy.",
    ):
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            return f"linalg.{rest}" if prefix == "torch.linalg." else rest
    return name


def index_array(array: Array, key: Any) -> Any:
    """`array[key]`."""
    try:
        if isinstance(key, list):
            key = tuple(key)
        if isinstance(key, tuple):
            key = tuple(
                k.astype(np.int64) if isinstance(k, np.ndarray) and k.dtype.kind == "f" else k for k in key
            )
        return checked(array[key])
    except CannotCompute:
        raise
    except Exception as problem:
        raise CannotCompute(str(problem)) from None


# Reductions


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def _reduction(function: Callable[..., Any]) -> Operation:
    def reduce(x: Any, dim: Any = None, keepdim: bool = False, *rest: Any, **options: Any) -> Any:
        dim = options.get("axis", dim)
        keepdim = options.get("keepdims", keepdim)
        if rest and isinstance(dim, int):  # x.sum(1, 2)
            raise CannotCompute("unusual dimensions")
        return function(np.asarray(x), axis=_axes(dim), keepdims=keepdim)

    return reduce


def _spread(function: Callable[..., Any]) -> Operation:
    def spread(x: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, **options: Any) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = options.get("correction", options.get("ddof", 1 if unbiased else 0))
        axis = _axes(options.get("axis", dim))
        return function(np.asarray(x), axis=axis, ddof=correction, keepdims=options.get("keepdims", keepdim))

    return spread


def _extreme(function: Callable[..., Any], pairwise: Callable[..., Any]) -> Operation:
    def extreme(x: Any, other: Any = None, keepdim: bool = False, **options: Any) -> Any:
        dim = options.get("dim", options.get("axis", other))
        if isinstance(dim, np.ndarray):
            return pairwise(x, dim)
        if dim is None:
            return function(np.asarray(x))
        values = function(np.asarray(x), axis=dim, keepdims=keepdim)
        if "axis" in options or isinstance(dim, tuple):
            return values
        return values, np.argmax(np.asarray(x) * (1 if function is np.max else -1), axis=dim)

    return extreme


def _norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    dim = options.get("axis", dim)
    order = 2 if p in {"fro", None} else options.get("ord", p)
    return np.sum(np.abs(x) ** order, axis=_axes(dim), keepdims=keepdim) ** (1 / order)


def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    return _norm(x, ord, dim, keepdim)


# Elementwise


def _clamp(x: Any, min: Any = None, max: Any = None, **options: Any) -> Any:  # noqa: A002
    return np.clip(x, options.get("a_min", min), options.get("a_max", max))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def _softmax(x: Any, dim: int = -1, **_: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return shifted / shifted.sum(axis=dim, keepdims=True)


def _log_softmax(x: Any, dim: int = -1, **_: Any) -> Any:
    shifted = x - np.max(x, axis=dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def _logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    top = np.max(x, axis=dim, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=_axes(dim), keepdims=True)) + top
    return total if keepdim else np.squeeze(total, axis=_axes(dim))


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    return np.where(condition, x, y)


def _add(x: Any, y: Any, alpha: float = 1) -> Any:
    return x + alpha * np.asarray(y)


def _sub(x: Any, y: Any, alpha: float = 1) -> Any:
    return x - alpha * np.asarray(y)


def _same(x: Any, *_: Any, **__: Any) -> Any:
    return x


def _as_float(x: Any, *_: Any, **__: Any) -> Any:
    return np.asarray(x, dtype=np.float64)


def _as_int(x: Any, *_: Any, **__: Any) -> Any:
    return np.asarray(x).astype(np.int64)


def _item(x: Any) -> Any:
    return np.asarray(x).item()


# Shapes


def _shape(*sizes: Any) -> tuple[int, ...]:
    if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
        sizes = tuple(sizes[0])
    return tuple(int(size) for size in sizes)


def _reshape(x: Any, *sizes: Any, **options: Any) -> Any:
    return np.reshape(x, _shape(*(sizes or (options.get("shape"),))))


def _flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    array = np.asarray(x)
    end = end_dim % array.ndim if array.ndim else 0
    return array.reshape(*array.shape[:start_dim], -1, *array.shape[end + 1 :])


def _permute(x: Any, *dims: Any) -> Any:
    return np.transpose(x, _shape(*dims))


def _transpose(x: Any, dim0: int = 0, dim1: int = 1) -> Any:
    return np.swapaxes(x, dim0, dim1)


def _unsqueeze(x: Any, dim: int) -> Any:
    return np.expand_dims(x, dim)


def _squeeze(x: Any, dim: Any = None) -> Any:
    array = np.asarray(x)
    if dim is None:
        return array.squeeze()
    return array.squeeze(dim) if array.shape[dim] == 1 else array


def _expand(x: Any, *sizes: Any) -> Any:
    shape = list(_shape(*sizes))
    array = np.asarray(x)
    own = (1,) * (len(shape) - array.ndim) + array.shape
    shape = [have if want == -1 else want for want, have in zip(shape, own, strict=True)]
    if math.prod(shape) > LARGEST:
        raise CannotCompute("the array is too large")
    return np.broadcast_to(array, shape)


def _repeat(x: Any, *sizes: Any) -> Any:
    times = _shape(*sizes)
    if math.prod(times) * np.asarray(x).size > LARGEST:
        raise CannotCompute("the array is too large")
    return np.tile(x, times)


def _cat(tensors: Any, dim: int = 0, **options: Any) -> Any:
    return np.concatenate(list(tensors), axis=options.get("axis", dim))


def _stack(tensors: Any, dim: int = 0, **options: Any) -> Any:
    return np.stack([np.asarray(t) for t in tensors], axis=options.get("axis", dim))


def _split(x: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        return tuple(np.split(x, range(size, x.shape[dim], size), axis=dim))
    return tuple(np.split(x, np.cumsum(size)[:-1], axis=dim))


def _chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    return tuple(np.array_split(x, chunks, axis=dim))


def _unbind(x: Any, dim: int = 0) -> Any:
    return tuple(np.moveaxis(x, dim, 0))


def _size(x: Any, dim: Any = None) -> Any:
    shape = np.asarray(x).shape
    return shape if dim is None else shape[dim]


def _gather(x: Any, dim: int, index: Any) -> Any:
    return np.take_along_axis(x, np.asarray(index).astype(np.int64), axis=dim)


def _one_hot(x: Any, num_classes: int = -1) -> Any:
    index = np.asarray(x).astype(np.int64)
    classes = int(index.max()) + 1 if num_classes < 0 else num_classes
    return np.eye(classes)[index]


# Making tensors


def _filled(fill: float) -> Operation:
    def make(*sizes: Any, **options: Any) -> Any:
        shape = _shape(*(sizes or (options.get("size", ()),)))
        if math.prod(shape) > LARGEST:
            raise CannotCompute("the array is too large")
        return np.full(shape, fill, dtype=np.float64)

    return make


def _tensor(data: Any = (), *_: Any, **__: Any) -> Any:
    array = np.asarray(data)
    return array if array.dtype == bool else array.astype(np.float64)


def _full(size: Any, fill_value: Any, **_: Any) -> Any:
    return _filled(float(fill_value))(size)


def _arange(*bounds: Any, **_: Any) -> Any:
    if any(abs(bound) > LARGEST for bound in bounds):
        raise CannotCompute("the range is too long")
    return np.arange(*bounds).astype(np.float64)


def _linspace(start: Any, end: Any, steps: Any = 50, **options: Any) -> Any:
    return np.linspace(start, end, int(options.get("num", steps)))


# Windows over images


def _pair(value: Any) -> tuple[int, int]:
    return (int(value[0]), int(value[-1])) if isinstance(value, list | tuple) else (int(value), int(value))


def _padded(x: Array, padding: Any) -> Array:
    rows, columns = _pair(padding)
    return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(rows, rows), (columns, columns)])


def _windows(x: Array, size: tuple[int, int], stride: tuple[int, int]) -> Array:
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis=(-2, -1))
    return views[..., :: stride[0], :: stride[1], :, :]


def _conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    if _pair(dilation) != (1, 1):
        raise CannotCompute("dilated convolution")
    if padding == "same":
        padding = (weight.shape[-2] // 2, weight.shape[-1] // 2)
    elif padding == "valid":
        padding = 0
    batch, channels = x.shape[:2]
    if channels % groups or channels // groups != weight.shape[1]:
        raise CannotCompute("channels do not fit")
    windows = _windows(_padded(x, padding), weight.shape[-2:], _pair(stride))
    if windows.size > 60_000_000:
        raise CannotCompute("the convolution is too large")
    grouped = windows.reshape(batch, groups, channels // groups, *windows.shape[2:])
    kernels = weight.reshape(groups, -1, *weight.shape[1:])
    out = np.einsum("bgihwkl,goikl->bgohw", grouped, kernels, optimize=True)
    out = out.reshape(batch, -1, *out.shape[3:])
    return out if bias is None else out + np.asarray(bias)[:, None, None]


def _conv1d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, **options: Any) -> Any:
    pad = (0, padding) if isinstance(padding, int) else (0, padding[0])
    out = _conv2d(
        x[:, :, None], weight[:, :, None], bias, (1, _pair(stride)[0]), pad, 1, options.get("groups", 1)
    )
    return out[:, :, 0]


def _pooling(function: Callable[..., Any]) -> Operation:
    def pool(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, **_: Any) -> Any:
        size = _pair(kernel_size)
        steps = _pair(stride) if stride is not None else size
        return function(_windows(_padded(x, padding), size, steps), axis=(-2, -1))

    return pool


def _adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    rows, columns = _pair(output_size)
    if x.shape[-2] % rows or x.shape[-1] % columns:
        raise CannotCompute("uneven pooling")
    return _pooling(np.mean)(x, (x.shape[-2] // rows, x.shape[-1] // columns))


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = 0) -> Any:
    sizes = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    widths = [(0, 0)] * (x.ndim - len(sizes)) + sizes[::-1]
    if mode == "constant":
        return np.pad(x, widths, constant_values=value or 0)
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return np.pad(x, widths, mode=modes[mode])  # type: ignore[call-overload]


def _unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    windows = _windows(_padded(x, padding), _pair(kernel_size), _pair(stride))
    batch, _, rows, columns = windows.shape[:4]
    return windows.transpose(0, 1, 4, 5, 2, 3).reshape(batch, -1, rows * columns)


def _interpolate(x: Any, size: Any = None, scale_factor: Any = None, **_: Any) -> Any:
    rows, columns = x.shape[-2:]
    if size is None:
        factors = scale_factor if isinstance(scale_factor, list | tuple) else (scale_factor, scale_factor)
        size = (int(rows * factors[0]), int(columns * factors[-1]))
    height, width = _pair(size)
    if x.size // max(rows * columns, 1) * height * width > LARGEST:
        raise CannotCompute("the array is too large")
    return x[..., (np.arange(height) * rows // height)[:, None], np.arange(width) * columns // width]


# Losses and likenesses


def _reduced(values: Any, reduction: str = "mean") -> Any:
    if reduction == "none":
        return values
    return np.sum(values) if reduction == "sum" else np.mean(values)


def _elementwise_loss(function: Callable[[Any, Any], Any]) -> Operation:
    def loss(x: Any, y: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
        return _reduced(function(np.asarray(x), np.asarray(y)), reduction)

    return loss


def _huber(x: Any, y: Any) -> Any:
    gap = np.abs(x - y)
    return np.where(gap < 1, 0.5 * gap**2, gap - 0.5)


def _bce(p: Any, y: Any) -> Any:
    if np.any((p < 0) | (p > 1)):
        raise CannotCompute("not a probability")
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def _bce_logits(x: Any, y: Any) -> Any:
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


def _nll(log_p: Any, target: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
    picked = np.take_along_axis(log_p, np.expand_dims(np.asarray(target).astype(np.int64), 1), axis=1)
    return _reduced(-picked, reduction)


def _cross_entropy(x: Any, target: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
    log_p = _log_softmax(x, 1)
    if np.asarray(target).ndim == x.ndim:
        return _reduced(-(np.asarray(target) * log_p).sum(axis=1), reduction)
    return _nll(log_p, target, reduction=reduction)


def _cosine_similarity(x: Any, y: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    size = np.sqrt((x * x).sum(axis=dim)) * np.sqrt((y * y).sum(axis=dim))
    return (x * y).sum(axis=dim) / np.maximum(size, eps)


def _normalize(x: Any, p: Any = 2, dim: int = 1, eps: float = 1e-12) -> Any:
    return x / np.maximum(_norm(x, p, dim, keepdim=True), eps)


def _pairwise_distance(x: Any, y: Any, p: Any = 2, **_: Any) -> Any:
    return _norm(x - y, p, -1)


def _einsum(equation: str, *operands: Any) -> Any:
    return np.einsum(equation, *operands, optimize=True)


def _fourier(transform: Operation, **usual: Any) -> Operation:
    """A Fourier transform with torch's arguments: sizes, dimensions and the normalisation."""
    name = next(iter(usual))

    def apply(x: Any, s: Any = None, dim: Any = None, norm: str | None = None, **given: Any) -> Any:
        chosen = given.get("n", s)
        return transform(x, chosen, **{name: usual[name] if dim is None else dim}, norm=norm)

    return apply


_ELEMENTWISE: dict[str, Operation] = {
    "abs": np.abs,
    "absolute": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "pow": lambda x, exponent: np.power(np.asarray(x, dtype=np.float64), exponent),
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": lambda x, min: np.maximum(x, min),  # noqa: A006
    "clamp_max": lambda x, max: np.minimum(x, max),  # noqa: A006
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x, **_: np.maximum(x, 0),
    "softplus": lambda x, **_: np.logaddexp(x, 0),
    "neg": np.negative,
    "sign": np.sign,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "reciprocal": lambda x: 1 / np.asarray(x),
    "sin": np.sin,
    "cos": np.cos,
    "atan2": np.arctan2,
    "nan_to_num": lambda x, nan=0.0, **_: np.nan_to_num(x, nan=nan),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "add": _add,
    "sub": _sub,
    "subtract": _sub,
    "mul": np.multiply,
    "multiply": np.multiply,
    "div": lambda x, y, **_: np.asarray(x) / y,
    "divide": lambda x, y: np.asarray(x) / y,
    "true_divide": lambda x, y: np.asarray(x) / y,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "lt": np.less,
    "ge": np.greater_equal,
    "le": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "where": _where,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "mean": _reduction(np.mean),
    "nanmean": _reduction(np.nanmean),
    "sum": _reduction(np.sum),
    "prod": _reduction(np.prod),
    "amax": _reduction(np.max),
    "amin": _reduction(np.min),
    "any": _reduction(np.any),
    "all": _reduction(np.all),
    "argmax": lambda x, dim=None, **o: np.argmax(x, axis=o.get("axis", dim)),
    "argmin": lambda x, dim=None, **o: np.argmin(x, axis=o.get("axis", dim)),
    "var": _spread(np.var),
    "std": _spread(np.std),
    "max": _extreme(np.max, np.maximum),
    "min": _extreme(np.min, np.minimum),
    "norm": _norm,
    "reshape": _reshape,
    "flatten": _flatten,
    "ravel": lambda x: np.ravel(x),
    "permute": _permute,
    "transpose": _transpose,
    "unsqueeze": _unsqueeze,
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": _squeeze,
    "flip": lambda x, dims: np.flip(x, _shape(dims)),
    "split": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "gather": _gather,
    "matmul": np.matmul,
    "mm": np.matmul,
    "bmm": np.matmul,
    "outer": np.outer,
    "ger": np.outer,
    "dot": np.dot,
    "t": np.transpose,
    "numel": np.size,
    "cumsum": lambda x, dim=None, **o: np.cumsum(x, axis=o.get("axis", dim)),
    "diff": lambda x, n=1, dim=-1, **_: np.diff(x, n, axis=dim),
}
METHODS: dict[str, Operation] = {
    **_ELEMENTWISE,
    "abs_": np.abs,
    "view": _reshape,
    "view_as": lambda x, y: np.reshape(x, y.shape),
    "reshape_as": lambda x, y: np.reshape(x, y.shape),
    "expand": _expand,
    "expand_as": lambda x, y: np.broadcast_to(x, y.shape),
    "repeat": _repeat,
    "size": _size,
    "dim": np.ndim,
    "ndimension": np.ndim,
    "nelement": np.size,
    "item": _item,
    "tolist": lambda x: np.asarray(x).tolist(),
    "float": _as_float,
    "double": _as_float,
    "astype": _as_float,
    "long": _as_int,
    "int": _as_int,
    "bool": lambda x: np.asarray(x).astype(bool),
    "new_ones": lambda x, *s, **_: _filled(1.0)(*s),
    "new_zeros": lambda x, *s, **_: _filled(0.0)(*s),
    "type": lambda x, *new: x if new else "torch.FloatTensor",
    **dict.fromkeys(("to", "type_as", "cuda", "cpu", "detach", "contiguous", "clone"), _same),
    **dict.fromkeys(("numpy", "half", "requires_grad_", "copy"), _same),
}
FUNCTIONS: dict[str, Operation] = {
    **_ELEMENTWISE,
    "linalg.norm": _vector_norm,
    "linalg.vector_norm": _vector_norm,
    "cat": _cat,
    "concat": _cat,
    "concatenate": _cat,
    "stack": _stack,
    "zeros": _filled(0.0),
    "ones": _filled(1.0),
    "full": _full,
    "zeros_like": lambda x, **_: np.zeros_like(x, dtype=np.float64),
    "ones_like": lambda x, **_: np.ones_like(x, dtype=np.float64),
    "full_like": lambda x, fill_value, **_: np.full_like(x, fill_value, dtype=np.float64),
    "tensor": _tensor,
    "Tensor": _tensor,
    "FloatTensor": _tensor,
    "as_tensor": _tensor,
    "from_numpy": _as_float,
    "array": _tensor,
    "asarray": _tensor,
    "arange": _arange,
    "linspace": _linspace,
    "eye": lambda n, **_: np.eye(int(n)),
    "hamming": lambda n: np.hamming(int(n)),
    "conv2d": _conv2d,
    "conv1d": _conv1d,
    "avg_pool2d": _pooling(np.mean),
    "max_pool2d": _pooling(np.max),
    "adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "pad": _pad,
    "unfold": _unfold,
    "interpolate": _interpolate,
    "one_hot": _one_hot,
    "normalize": _normalize,
    "cosine_similarity": _cosine_similarity,
    "pairwise_distance": _pairwise_distance,
    "cdist": lambda x, y, p=2.0: _norm(x[..., :, None, :] - y[..., None, :, :], p, -1),
    "l1_loss": _elementwise_loss(lambda x, y: np.abs(x - y)),
    "mse_loss": _elementwise_loss(lambda x, y: (x - y) ** 2),
    "smooth_l1_loss": _elementwise_loss(_huber),
    "huber_loss": _elementwise_loss(_huber),
    "binary_cross_entropy": _elementwise_loss(_bce),
    "binary_cross_entropy_with_logits": _elementwise_loss(_bce_logits),
    "cross_entropy": _cross_entropy,
    "nll_loss": _nll,
    "kl_div": _elementwise_loss(lambda x, y: np.where(y > 0, y * (np.log(np.maximum(y, 1e-30)) - x), 0)),
    "einsum": _einsum,
    "fft.fft": _fourier(np.fft.fft, axis=-1),
    "fft.rfft": _fourier(np.fft.rfft, axis=-1),
    "fft.fft2": _fourier(np.fft.fft2, axes=(-2, -1)),
    "fft.rfft2": _fourier(np.fft.rfft2, axes=(-2, -1)),
    "fft.fftn": _fourier(np.fft.fftn, axes=None),
    "fft.rfftn": _fourier(np.fft.rfftn, axes=None),
    "fft.fftshift": lambda x, dim=None: np.fft.fftshift(x, dim),
    "view_as_real": lambda x: np.stack([x.real, x.imag], -1),
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
    "len": len,
    "float": float,
    "int": int,
    "bool": bool,
    "math.prod": math.prod,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "math.log10": math.log10,
    "math.log2": math.log2,
    "math.pow": math.pow,
    "is_tensor": lambda x: isinstance(x, np.ndarray),
    "is_floating_point": lambda x: True,
}
# Layers without weights, made first and called later: layer -> the function it stands for.
LAYERS: dict[str, str] = {
    "torch.nn.L1Loss": "l1_loss",
    "torch.nn.MSELoss": "mse_loss",
    "torch.nn.SmoothL1Loss": "smooth_l1_loss",
    "torch.nn.HuberLoss": "huber_loss",
    "torch.nn.BCELoss": "binary_cross_entropy",
    "torch.nn.BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "torch.nn.CrossEntropyLoss": "cross_entropy",
    "torch.nn.NLLLoss": "nll_loss",
    "torch.nn.CosineSimilarity": "cosine_similarity",
    "torch.nn.Sigmoid": "sigmoid",
    "torch.nn.Softmax": "softmax",
    "torch.nn.ReLU": "relu",
    "torch.nn.AvgPool2d": "avg_pool2d",
    "torch.nn.MaxPool2d": "max_pool2d",
    "torch.nn.AdaptiveAvgPool2d": "adaptive_avg_pool2d",
    "torch.nn.Unfold": "unfold",
}


def compute_layer(
    name: str,
    made: Sequence[Any],
    made_keywords: Mapping[str, Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """Call a layer that was made with `made`: the function with those arguments behind the tensors."""
    function = LAYERS.get(name)
    if function is None:
        if name == "torch.nn.ReflectionPad2d" and made and isinstance(made[0], int):
            return compute("pad", [args[0], (made[0],) * 4, "reflect"], {})
        raise CannotCompute(name)
    kept = {key: value for key, value in made_keywords.items() if key not in {"inplace"}}
    return compute(function, [*args, *made], {**kept, **keywords})
