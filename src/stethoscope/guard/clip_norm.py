"""Hears the norm that `torch.nn.utils.clip_grad_norm_` computes, so that no gradient is read twice.

The norm of all gradients costs as much as reading them all. A loop that clips has paid for it already, also
inside Lightning, transformers and Accelerate; what was computed there is taken, if it is of these gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad

_COMPUTES = "_get_total_norm"  # looked up by clip_grad_norm_ each time it is called; absent before torch 2.6
EUCLIDEAN = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _Heard:
    count: int
    first: int
    last: int
    norm: Tensor


_heard: list[_Heard] = []  # at most one for each optimizer of a step
MOST_HEARD = 8


def listen() -> None:
    """Begin to listen; further calls change nothing."""
    computes = getattr(clip_grad, _COMPUTES, None)
    if computes is None or hasattr(computes, "_is_heard"):
        return

    @wraps(computes)
    def heard(tensors: Any, norm_type: float = EUCLIDEAN, *args: Any, **kwargs: Any) -> Tensor:
        norm: Tensor = computes(tensors, norm_type, *args, **kwargs)
        if isinstance(tensors, list) and tensors and float(norm_type) == EUCLIDEAN:
            _heard.append(_Heard(len(tensors), id(tensors[0]), id(tensors[-1]), norm))
            del _heard[:-MOST_HEARD]
        return norm

    heard._is_heard = True  # type: ignore[attr-defined]
    setattr(clip_grad, _COMPUTES, heard)


def heard_norm(grads: Sequence[Tensor]) -> Tensor | None:
    """The norm of just these gradients that was computed since it was last asked for."""
    if not grads:
        return None
    for at, one in enumerate(_heard):
        if one.count == len(grads) and one.first == id(grads[0]) and one.last == id(grads[-1]):
            del _heard[: at + 1]
            return one.norm
    return None


def forget() -> None:
    """Drop what was heard: a gradient's address may be given to another one."""
    _heard.clear()


def total_norm(grads: Sequence[Tensor]) -> Tensor:
    """The norm of all gradients together, as float32 on the device of the first."""
    dense = [grad.detach() if not grad.is_sparse else grad.detach().coalesce().values() for grad in grads]
    first = dense[0].device
    norms: list[Tensor] = []
    for device in {grad.device for grad in dense}:
        here = [grad for grad in dense if grad.device == device]
        norms += [norm.to(first, torch.float32, non_blocking=True) for norm in torch._foreach_norm(here)]
    total: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return total
