"""What libraries do to pictures: to arrays, and to those of PIL, which tell the width before the height."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import CannotCompute

Array = np.ndarray[Any, Any]
NEAREST = "nearest"
BLENDING = "blending"


@dataclass(frozen=True, eq=False, slots=True)
class Photo:
    """A picture of PIL. Whether one of one channel holds colours of a palette is not known."""

    array: Array
    converted: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.array.shape[1], self.array.shape[0]


def resized(x: Array, height: int, width: int, how: str, first: bool) -> Array:
    """A picture in another size; `first` says that its channels come first."""
    if min(height, width) < 1 or height * width > 1 << 20:
        raise CannotCompute("an unusual size")
    rows, columns = (x.shape[-2], x.shape[-1]) if first else (x.shape[0], x.shape[1])
    at_rows, at_columns = _places(rows, height), _places(columns, width)
    axes = (x.ndim - 2, x.ndim - 1) if first else (0, 1)
    if how == NEAREST:
        picked_rows = np.minimum(np.floor(at_rows + 0.5), rows - 1).astype(np.int64)
        picked_columns = np.minimum(np.floor(at_columns + 0.5), columns - 1).astype(np.int64)
        return np.asarray(np.take(np.take(x, picked_rows, axes[0]), picked_columns, axes[1]))
    blended = _blended(_blended(x.astype(np.float64), at_rows, axes[0]), at_columns, axes[1])
    return np.round(blended).astype(x.dtype) if x.dtype.kind in "iub" else blended


def _places(old: int, new: int) -> Array:
    return np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)


def _blended(x: Array, places: Array, axis: int) -> Array:
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    share = (places - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.asarray(np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share)


def interpolation(told: str, default: str) -> str:
    """How a resize finds what is between two places, by the name of its mode."""
    name = told.rpartition(".")[2].lower()
    if not name:
        return default
    return NEAREST if "nearest" in name or name == "0" else BLENDING


def gray(x: Array) -> Array:
    """One channel of a picture that has three, in the type it has."""
    if x.ndim != 3 or x.shape[2] != 3:
        return x
    mixed = x.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
    return np.asarray(np.round(mixed), dtype=x.dtype) if x.dtype.kind in "iu" else np.asarray(mixed)


def cropped(x: Array, top: int, left: int, height: int, width: int, first: bool) -> Array:
    """A window of a picture, with black around where it reaches beyond."""
    rows, columns = (x.shape[-2], x.shape[-1]) if first else (x.shape[0], x.shape[1])
    outside = (max(0, -top), max(0, top + height - rows)), (max(0, -left), max(0, left + width - columns))
    pads: list[tuple[int, int]] = [(0, 0)] * x.ndim
    place = x.ndim - 2 if first else 0
    pads[place : place + 2] = outside
    x = np.pad(x, pads) if any(map(any, outside)) else x
    top, left = top + outside[0][0], left + outside[1][0]
    window = (slice(top, top + height), slice(left, left + width))
    return x[(..., *window)] if first else x[window]


def turned(x: Array, quarters: int, first: bool) -> Array:
    """A picture turned by right angles."""
    return np.rot90(x, quarters, axes=(x.ndim - 2, x.ndim - 1) if first else (0, 1))


def mirrored(x: Array, axis: str, first: bool) -> Array:
    """A picture mirrored: "h" puts left to the right, "v" top to bottom."""
    place = {("h", True): x.ndim - 1, ("v", True): x.ndim - 2, ("h", False): 1, ("v", False): 0}[axis, first]
    return np.flip(x, place)


def opencv_flip(x: Array, code: int) -> Array:
    """cv2.flip."""
    if code == 0:
        return np.flip(x, 0)
    return np.flip(x, 1) if code > 0 else np.flip(x, (0, 1))


def opencv_color(x: Array, code: str) -> Array:
    """cv2.cvtColor between orders of channels and to one channel."""
    name = code.rpartition(".")[2]
    if name in {"COLOR_BGR2RGB", "COLOR_RGB2BGR"}:
        return x[..., ::-1]
    if name in {"COLOR_BGR2GRAY", "COLOR_RGB2GRAY"}:
        return gray(x)
    raise CannotCompute(name)


# Methods of numpy and functions on whole arrays that change no more than their names say.
PLAIN_NUMPY: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "flip", "fliplr", "flipud", "rot90", "transpose", "ascontiguousarray", "stack", "concatenate",
        "expand_dims", "squeeze", "clip", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like",
        "where", "mean", "max", "min", "abs", "round", "unique", "isin", "repeat", "tile", "moveaxis",
        "swapaxes", "copy", "sum", "any", "all", "arange", "pad", "take", "bincount", "roll", "maximum",
        "minimum", "floor", "ceil", "sqrt", "power", "equal", "logical_and", "logical_or", "less", "greater",
        "array_equal", "dstack", "hstack", "vstack", "atleast_3d", "isnan", "nan_to_num", "argmax", "float32",
        "float64", "uint8", "int64", "int32",
    )
}  # fmt: skip
