"""Operations on windows of pictures: convolution, pooling, padding, interpolation.

Each takes torch's arguments and gives what torch would, on numpy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import LARGEST, Array, CannotCompute, Operation


def pair(value: Any) -> tuple[int, int]:
    return (int(value[0]), int(value[-1])) if isinstance(value, list | tuple) else (int(value), int(value))


def padded(x: Array, padding: Any) -> Array:
    rows, columns = pair(padding)
    return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(rows, rows), (columns, columns)])


def windows_of(x: Array, size: tuple[int, int], stride: tuple[int, int]) -> Array:
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis=(-2, -1))
    return views[..., :: stride[0], :: stride[1], :, :]


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    if pair(dilation) != (1, 1):
        raise CannotCompute("dilated convolution")
    if padding == "same":
        padding = (weight.shape[-2] // 2, weight.shape[-1] // 2)
    elif padding == "valid":
        padding = 0
    batch, channels = x.shape[:2]
    if channels % groups or channels // groups != weight.shape[1]:
        raise CannotCompute("channels do not fit")
    windows = windows_of(padded(x, padding), weight.shape[-2:], pair(stride))
    if windows.size > 60_000_000:
        raise CannotCompute("the convolution is too large")
    grouped = windows.reshape(batch, groups, channels // groups, *windows.shape[2:])
    kernels = weight.reshape(groups, -1, *weight.shape[1:])
    out = np.einsum("bgihwkl,goikl->bgohw", grouped, kernels, optimize=True)
    out = out.reshape(batch, -1, *out.shape[3:])
    return out if bias is None else out + np.asarray(bias)[:, None, None]


def conv1d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, **options: Any) -> Any:
    pad = (0, padding) if isinstance(padding, int) else (0, padding[0])
    out = conv2d(
        x[:, :, None], weight[:, :, None], bias, (1, pair(stride)[0]), pad, 1, options.get("groups", 1)
    )
    return out[:, :, 0]


def pooling(function: Callable[..., Any]) -> Operation:
    def pool(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, **_: Any) -> Any:
        size = pair(kernel_size)
        steps = pair(stride) if stride is not None else size
        return function(windows_of(padded(x, padding), size, steps), axis=(-2, -1))

    return pool


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    rows, columns = pair(output_size)
    if x.shape[-2] % rows or x.shape[-1] % columns:
        raise CannotCompute("uneven pooling")
    return pooling(np.mean)(x, (x.shape[-2] // rows, x.shape[-1] // columns))


def pad(x: Any, pad: Any, mode: str = "constant", value: Any = 0) -> Any:
    sizes = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    widths = [(0, 0)] * (x.ndim - len(sizes)) + sizes[::-1]
    if mode == "constant":
        return np.pad(x, widths, constant_values=value or 0)
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return np.pad(x, widths, mode=modes[mode])  # type: ignore[call-overload]


def unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    windows = windows_of(padded(x, padding), pair(kernel_size), pair(stride))
    batch, _, rows, columns = windows.shape[:4]
    return windows.transpose(0, 1, 4, 5, 2, 3).reshape(batch, -1, rows * columns)


def interpolate(x: Any, size: Any = None, scale_factor: Any = None, **_: Any) -> Any:
    rows, columns = x.shape[-2:]
    if size is None:
        factors = scale_factor if isinstance(scale_factor, list | tuple) else (scale_factor, scale_factor)
        size = (int(rows * factors[0]), int(columns * factors[-1]))
    height, width = pair(size)
    if x.size // max(rows * columns, 1) * height * width > LARGEST:
        raise CannotCompute("the array is too large")
    return x[..., (np.arange(height) * rows // height)[:, None], np.arange(width) * columns // width]
