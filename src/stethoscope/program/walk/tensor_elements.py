"""Reductions and operations on each element.

Each takes torch's arguments and gives what torch would, on numpy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import CannotCompute, Operation


def axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def reduction(function: Callable[..., Any]) -> Operation:
    def reduce(x: Any, dim: Any = None, keepdim: bool = False, *rest: Any, **options: Any) -> Any:
        dim = options.get("axis", dim)
        keepdim = options.get("keepdims", keepdim)
        if rest and isinstance(dim, int):  # x.sum(1, 2)
            raise CannotCompute("unusual dimensions")
        return function(np.asarray(x), axis=axes(dim), keepdims=keepdim)

    return reduce


def spread(function: Callable[..., Any]) -> Operation:
    def spread(x: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, **options: Any) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = options.get("correction", options.get("ddof", 1 if unbiased else 0))
        axis = axes(options.get("axis", dim))
        return function(np.asarray(x), axis=axis, ddof=correction, keepdims=options.get("keepdims", keepdim))

    return spread


def extreme(function: Callable[..., Any], pairwise: Callable[..., Any]) -> Operation:
    def extreme(x: Any, other: Any = None, keepdim: bool = False, **options: Any) -> Any:
        dim = options.get("dim", options.get("axis", other))
        is_of_two = other is not None and np.ndim(x) == 0  # `min(epoch, 20)`
        if isinstance(dim, np.ndarray) or is_of_two:
            return pairwise(x, dim)
        if dim is None:
            return function(np.asarray(x))
        values = function(np.asarray(x), axis=dim, keepdims=keepdim)
        if "axis" in options or isinstance(dim, tuple):
            return values
        return values, np.argmax(np.asarray(x) * (1 if function is np.max else -1), axis=dim)

    return extreme


def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    dim = options.get("axis", dim)
    order = 2 if p in {"fro", None} else options.get("ord", p)
    return np.sum(np.abs(x) ** order, axis=axes(dim), keepdims=keepdim) ** (1 / order)


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    return norm(x, ord, dim, keepdim)


def clamp(x: Any, min: Any = None, max: Any = None, **options: Any) -> Any:  # noqa: A002
    return np.clip(x, options.get("a_min", min), options.get("a_max", max))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def softmax(x: Any, dim: int = -1, **_: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return shifted / shifted.sum(axis=dim, keepdims=True)


def log_softmax(x: Any, dim: int = -1, **_: Any) -> Any:
    shifted = x - np.max(x, axis=dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    top = np.max(x, axis=dim, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=axes(dim), keepdims=True)) + top
    return total if keepdim else np.squeeze(total, axis=axes(dim))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    return np.where(condition, x, y)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(np.asarray(mask, dtype=bool), value, x)


def add(x: Any, y: Any, alpha: float = 1) -> Any:
    return x + alpha * np.asarray(y)


def sub(x: Any, y: Any, alpha: float = 1) -> Any:
    return x - alpha * np.asarray(y)


def same(x: Any, *_: Any, **__: Any) -> Any:
    return x


def as_float(x: Any, *_: Any, **__: Any) -> Any:
    return np.asarray(x, dtype=np.float64)


def as_int(x: Any, *_: Any, **__: Any) -> Any:
    return np.asarray(x).astype(np.int64)


def item(x: Any) -> Any:
    return np.asarray(x).item()


def argsort(x: Any, dim: int = -1, descending: bool = False, **options: Any) -> Any:
    return np.argsort(-np.asarray(x) if descending else x, axis=options.get("axis", dim), kind="stable")


def sort(x: Any, dim: int = -1, descending: bool = False, **options: Any) -> Any:
    order = argsort(x, dim, descending, **options)
    return np.take_along_axis(np.asarray(x), order, axis=options.get("axis", dim)), order
