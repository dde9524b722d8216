"""Losses, likenesses, products and transforms.

Each takes torch's arguments and gives what torch would, on numpy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import CannotCompute, Operation
from stethoscope.program.walk.tensor_elements import log_softmax, norm


def reduced(values: Any, reduction: str = "mean") -> Any:
    if reduction == "none":
        return values
    return np.sum(values) if reduction == "sum" else np.mean(values)


def elementwise_loss(function: Callable[[Any, Any], Any]) -> Operation:
    def loss(x: Any, y: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
        return reduced(function(np.asarray(x), np.asarray(y)), reduction)

    return loss


def huber(x: Any, y: Any) -> Any:
    gap = np.abs(x - y)
    return np.where(gap < 1, 0.5 * gap**2, gap - 0.5)


def bce(p: Any, y: Any) -> Any:
    if np.any((p < 0) | (p > 1)):
        raise CannotCompute("not a probability")
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def bce_logits(x: Any, y: Any) -> Any:
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


def nll(log_p: Any, target: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
    picked = np.take_along_axis(log_p, np.expand_dims(np.asarray(target).astype(np.int64), 1), axis=1)
    return reduced(-picked, reduction)


def cross_entropy(x: Any, target: Any, *_: Any, reduction: str = "mean", **__: Any) -> Any:
    log_p = log_softmax(x, 1)
    if np.asarray(target).ndim == x.ndim:
        return reduced(-(np.asarray(target) * log_p).sum(axis=1), reduction)
    return nll(log_p, target, reduction=reduction)


def cosine_similarity(x: Any, y: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    size = np.sqrt((x * x).sum(axis=dim)) * np.sqrt((y * y).sum(axis=dim))
    return (x * y).sum(axis=dim) / np.maximum(size, eps)


def normalize(x: Any, p: Any = 2, dim: int = 1, eps: float = 1e-12) -> Any:
    return x / np.maximum(norm(x, p, dim, keepdim=True), eps)


def pairwise_distance(x: Any, y: Any, p: Any = 2, **_: Any) -> Any:
    return norm(x - y, p, -1)


def einsum(equation: str, *operands: Any) -> Any:
    return np.einsum(equation, *operands, optimize=True)


def triplet_margin(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, **_: Any) -> Any:
    near, far = pairwise_distance(anchor, positive), pairwise_distance(anchor, negative)
    return np.mean(np.maximum(near - far + margin, 0))


def cosine_embedding(x: Any, y: Any, target: Any, margin: float = 0.0, **_: Any) -> Any:
    likeness = cosine_similarity(x, y)
    return np.mean(np.where(np.asarray(target) > 0, 1 - likeness, np.maximum(likeness - margin, 0)))


def margin_ranking(first: Any, second: Any, target: Any, margin: float = 0.0, **_: Any) -> Any:
    return np.mean(np.maximum(-np.asarray(target) * (first - second) + margin, 0))
