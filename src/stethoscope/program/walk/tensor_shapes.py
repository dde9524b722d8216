"""Operations that arrange, join, pick or make elements.

Each takes torch's arguments and gives what torch would, on numpy arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute, Operation


def sizes_of(*sizes: Any) -> tuple[int, ...]:
    if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
        sizes = tuple(sizes[0])
    return tuple(int(size) for size in sizes)


def reshape(x: Any, *sizes: Any, **options: Any) -> Any:
    return np.reshape(x, sizes_of(*(sizes or (options.get("shape"),))))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    array = np.asarray(x)
    end = end_dim % array.ndim if array.ndim else 0
    return array.reshape(*array.shape[:start_dim], -1, *array.shape[end + 1 :])


def permute(x: Any, *dims: Any) -> Any:
    return np.transpose(x, sizes_of(*dims))


def transpose(x: Any, dim0: int = 0, dim1: int = 1) -> Any:
    return np.swapaxes(x, dim0, dim1)


def unsqueeze(x: Any, dim: int) -> Any:
    return np.expand_dims(x, dim)


def squeeze(x: Any, dim: Any = None) -> Any:
    array = np.asarray(x)
    if dim is None:
        return array.squeeze()
    return array.squeeze(dim) if array.shape[dim] == 1 else array


def expand(x: Any, *sizes: Any) -> Any:
    shape = list(sizes_of(*sizes))
    array = np.asarray(x)
    own = (1,) * (len(shape) - array.ndim) + array.shape
    shape = [have if want == -1 else want for want, have in zip(shape, own, strict=True)]
    if math.prod(shape) > LARGEST:
        raise CannotCompute("the array is too large")
    return np.broadcast_to(array, shape)


def repeat(x: Any, *sizes: Any) -> Any:
    times = sizes_of(*sizes)
    if math.prod(times) * np.asarray(x).size > LARGEST:
        raise CannotCompute("the array is too large")
    return np.tile(x, times)


def cat(tensors: Any, dim: int = 0, **options: Any) -> Any:
    return np.concatenate(list(tensors), axis=options.get("axis", dim))


def stack(tensors: Any, dim: int = 0, **options: Any) -> Any:
    return np.stack([np.asarray(t) for t in tensors], axis=options.get("axis", dim))


def split(x: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        return tuple(np.split(x, range(size, x.shape[dim], size), axis=dim))
    return tuple(np.split(x, np.cumsum(size)[:-1], axis=dim))


def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    return tuple(np.array_split(x, chunks, axis=dim))


def unbind(x: Any, dim: int = 0) -> Any:
    return tuple(np.moveaxis(x, dim, 0))


def size(x: Any, dim: Any = None) -> Any:
    shape = np.asarray(x).shape
    return shape if dim is None else shape[dim]


def gather(x: Any, dim: int, index: Any) -> Any:
    return np.take_along_axis(x, np.asarray(index).astype(np.int64), axis=dim)


def scatter(x: Any, dim: int, index: Any, src: Any = None, **options: Any) -> Any:
    if set(options) - {"value"}:
        raise CannotCompute("a reduction while scattering")
    laid = np.array(x, dtype=np.float64)
    given = options.get("value", src)
    np.put_along_axis(laid, np.asarray(index).astype(np.int64), given, axis=dim)
    return laid


def one_hot(x: Any, num_classes: int = -1) -> Any:
    index = np.asarray(x).astype(np.int64)
    classes = int(index.max()) + 1 if num_classes < 0 else num_classes
    return np.eye(classes)[index]


def filled(fill: float) -> Operation:
    def make(*sizes: Any, **options: Any) -> Any:
        shape = sizes_of(*(sizes or (options.get("size", ()),)))
        if math.prod(shape) > LARGEST:
            raise CannotCompute("the array is too large")
        return np.full(shape, fill, dtype=np.float64)

    return make


def tensor(data: Any = (), *_: Any, **__: Any) -> Any:
    array = np.asarray(data)
    return array if array.dtype == bool else array.astype(np.float64)


def full(size: Any, fill_value: Any, **_: Any) -> Any:
    return filled(float(fill_value))(size)


def arange(*bounds: Any, **_: Any) -> Any:
    if any(abs(bound) > LARGEST for bound in bounds):
        raise CannotCompute("the range is too long")
    return np.arange(*bounds).astype(np.float64)


def linspace(start: Any, end: Any, steps: Any = 50, **options: Any) -> Any:
    return np.linspace(start, end, int(options.get("num", steps)))


def roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    return np.roll(x, shifts, dims)


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, **_: Any) -> Any:
    order = np.argsort(-x if largest else x, axis=dim).take(range(int(k)), axis=dim)
    return np.take_along_axis(x, order, axis=dim), order
