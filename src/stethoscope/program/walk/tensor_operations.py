"""The tensor operations that can be computed without torch: a fixed list of pure functions on numpy arrays.

Names are what the source calls: full outside names ("torch.nn.functional.conv2d") or methods (".mean").
Whatever is not listed is not computed. Arrays are float64; sizes are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.program.walk import tensor_elements as elements
from stethoscope.program.walk import tensor_losses as losses
from stethoscope.program.walk import tensor_shapes as shapes
from stethoscope.program.walk import tensor_spectra as spectra
from stethoscope.program.walk import tensor_windows as windows
from stethoscope.program.walk.bounded_arrays import LARGEST, Array, CannotCompute, Operation, checked

__all__ = [
    "FUNCTIONS",
    "LARGEST",
    "LAYERS",
    "METHODS",
    "CannotCompute",
    "checked",
    "compute",
    "compute_layer",
    "index_array",
    "is_known",
]


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
        if isinstance(key, np.ndarray) and key.dtype.kind == "f":
            key = key.astype(np.int64)  # numbers of places are computed as floats like all else
        return checked(array[key])
    except CannotCompute:
        raise
    except Exception as problem:
        raise CannotCompute(str(problem)) from None


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
    "clamp": elements.clamp,
    "clip": elements.clamp,
    "clamp_min": lambda x, min: np.maximum(x, min),  # noqa: A006
    "clamp_max": lambda x, max: np.minimum(x, max),  # noqa: A006
    "sigmoid": elements.sigmoid,
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
    "hypot": np.hypot,
    "count_nonzero": lambda x, dim=None: np.count_nonzero(x, axis=dim),
    "nan_to_num": lambda x, nan=0.0, **_: np.nan_to_num(x, nan=nan),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "add": elements.add,
    "sub": elements.sub,
    "subtract": elements.sub,
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
    "where": elements.where,
    "masked_fill": elements.masked_fill,
    "masked_select": lambda x, mask: np.asarray(x)[np.asarray(mask, dtype=bool)],
    "logsigmoid": lambda x: -np.logaddexp(-np.asarray(x), 0),
    "expm1": np.expm1,
    "softmax": elements.softmax,
    "log_softmax": elements.log_softmax,
    "logsumexp": elements.logsumexp,
    "mean": elements.reduction(np.mean),
    "nanmean": elements.reduction(np.nanmean),
    "sum": elements.reduction(np.sum),
    "prod": elements.reduction(np.prod),
    "amax": elements.reduction(np.max),
    "amin": elements.reduction(np.min),
    "any": elements.reduction(np.any),
    "all": elements.reduction(np.all),
    "argmax": lambda x, dim=None, **o: np.argmax(x, axis=o.get("axis", dim)),
    "argmin": lambda x, dim=None, **o: np.argmin(x, axis=o.get("axis", dim)),
    "var": elements.spread(np.var),
    "std": elements.spread(np.std),
    "max": elements.extreme(np.max, np.maximum),
    "min": elements.extreme(np.min, np.minimum),
    "norm": elements.norm,
    "reshape": shapes.reshape,
    "flatten": shapes.flatten,
    "ravel": lambda x: np.ravel(x),
    "permute": shapes.permute,
    "transpose": shapes.transpose,
    "unsqueeze": shapes.unsqueeze,
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": shapes.squeeze,
    "flip": lambda x, dims: np.flip(x, shapes.sizes_of(dims)),
    "split": shapes.split,
    "chunk": shapes.chunk,
    "unbind": shapes.unbind,
    "gather": shapes.gather,
    "scatter": shapes.scatter,
    "index_select": lambda x, dim, index: np.take(x, np.asarray(index).astype(np.int64), axis=dim),
    "movedim": np.moveaxis,
    "swapaxes": np.swapaxes,
    "cumprod": lambda x, dim=None, **o: np.cumprod(x, axis=o.get("axis", dim)),
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
    "logcumsumexp": lambda x, dim: np.logaddexp.accumulate(x, axis=dim),
    "argsort": elements.argsort,
    "sort": elements.sort,
    "logaddexp": np.logaddexp,
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "diag": np.diag,
    "trace": np.trace,
    "triu": lambda x, diagonal=0: np.triu(x, diagonal),
    "tril": lambda x, diagonal=0: np.tril(x, diagonal),
    "roll": shapes.roll,
    "lerp": lambda x, y, weight: x + weight * (np.asarray(y) - x),
    "nansum": elements.reduction(np.nansum),
    "topk": shapes.topk,
}
METHODS: dict[str, Operation] = {
    **_ELEMENTWISE,
    "abs_": np.abs,
    "masked_fill_": elements.masked_fill,
    "scatter_": shapes.scatter,
    "fill_": lambda x, value: np.full_like(x, value, dtype=np.float64),
    "view": shapes.reshape,
    "view_as": lambda x, y: np.reshape(x, y.shape),
    "reshape_as": lambda x, y: np.reshape(x, y.shape),
    "expand": shapes.expand,
    "expand_as": lambda x, y: np.broadcast_to(x, y.shape),
    "repeat": shapes.repeat,
    "size": shapes.size,
    "unfold": spectra.frames,
    "stft": spectra.stft,
    "dim": np.ndim,
    "ndimension": np.ndim,
    "nelement": np.size,
    "item": elements.item,
    "tolist": lambda x: np.asarray(x).tolist(),
    "float": elements.as_float,
    "double": elements.as_float,
    "astype": elements.as_float,
    "long": elements.as_int,
    "int": elements.as_int,
    "bool": lambda x: np.asarray(x).astype(bool),
    "new_ones": lambda x, *s, **_: shapes.filled(1.0)(*s),
    "new_zeros": lambda x, *s, **_: shapes.filled(0.0)(*s),
    "type": lambda x, *new: x if new else "torch.FloatTensor",
    **dict.fromkeys(("to", "type_as", "cuda", "cpu", "detach", "contiguous", "clone"), elements.same),
    **dict.fromkeys(("numpy", "half", "requires_grad_", "copy"), elements.same),
}
FUNCTIONS: dict[str, Operation] = {
    **_ELEMENTWISE,
    "linalg.norm": elements.vector_norm,
    "linalg.vector_norm": elements.vector_norm,
    "cat": shapes.cat,
    "concat": shapes.cat,
    "concatenate": shapes.cat,
    "stack": shapes.stack,
    "zeros": shapes.filled(0.0),
    "ones": shapes.filled(1.0),
    "full": shapes.full,
    "zeros_like": lambda x, **_: np.zeros_like(x, dtype=np.float64),
    "ones_like": lambda x, **_: np.ones_like(x, dtype=np.float64),
    "full_like": lambda x, fill_value, **_: np.full_like(x, fill_value, dtype=np.float64),
    "tensor": shapes.tensor,
    "Tensor": shapes.tensor,
    "FloatTensor": shapes.tensor,
    "as_tensor": shapes.tensor,
    "from_numpy": elements.as_float,
    "array": shapes.tensor,
    "asarray": shapes.tensor,
    "arange": shapes.arange,
    "linspace": shapes.linspace,
    "eye": lambda n, **_: np.eye(int(n)),
    "hamming": lambda n: np.hamming(int(n)),
    "conv2d": windows.conv2d,
    "conv1d": windows.conv1d,
    "avg_pool2d": windows.pooling(np.mean),
    "max_pool2d": windows.pooling(np.max),
    "adaptive_avg_pool2d": windows.adaptive_avg_pool2d,
    "pad": windows.pad,
    "unfold": windows.unfold,
    "interpolate": windows.interpolate,
    "one_hot": shapes.one_hot,
    "normalize": losses.normalize,
    "cosine_similarity": losses.cosine_similarity,
    "pairwise_distance": losses.pairwise_distance,
    "cdist": lambda x, y, p=2.0: elements.norm(x[..., :, None, :] - y[..., None, :, :], p, -1),
    "l1_loss": losses.elementwise_loss(lambda x, y: np.abs(x - y)),
    "mse_loss": losses.elementwise_loss(lambda x, y: (x - y) ** 2),
    "smooth_l1_loss": losses.elementwise_loss(losses.huber),
    "huber_loss": losses.elementwise_loss(losses.huber),
    "binary_cross_entropy": losses.elementwise_loss(losses.bce),
    "binary_cross_entropy_with_logits": losses.elementwise_loss(losses.bce_logits),
    "cross_entropy": losses.cross_entropy,
    "nll_loss": losses.nll,
    "kl_div": losses.elementwise_loss(
        lambda x, y: np.where(y > 0, y * (np.log(np.maximum(y, 1e-30)) - x), 0)
    ),
    "triplet_margin_loss": losses.triplet_margin,
    "cosine_embedding_loss": losses.cosine_embedding,
    "margin_ranking_loss": losses.margin_ranking,
    "einsum": losses.einsum,
    "fft.fft": spectra.fourier(np.fft.fft, axis=-1),
    "fft.rfft": spectra.fourier(np.fft.rfft, axis=-1),
    "fft.fft2": spectra.fourier(np.fft.fft2, axes=(-2, -1)),
    "fft.rfft2": spectra.fourier(np.fft.rfft2, axes=(-2, -1)),
    "fft.fftn": spectra.fourier(np.fft.fftn, axes=None),
    "fft.rfftn": spectra.fourier(np.fft.rfftn, axes=None),
    "fft.fftshift": lambda x, dim=None: np.fft.fftshift(x, dim),
    "stft": spectra.stft,
    "hann_window": spectra.window(np.hanning),
    "hamming_window": spectra.window(np.hamming),
    "blackman_window": spectra.window(np.blackman),
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
    "math.cos": math.cos,
    "math.sin": math.sin,
    "math.tanh": math.tanh,
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
    "torch.nn.LogSoftmax": "log_softmax",
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
