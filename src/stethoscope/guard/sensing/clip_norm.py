"""Hears the norm that `torch.nn.utils.clip_grad_norm_` computes, so that no gradient is read twice.

The norm of all gradients costs as much as reading them all. A loop that clips has paid for it already, also
inside Lightning, transformers and Accelerate; what was computed there is taken, if it is of these gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor
from torch.nn.utils import clip_grad

_COMPUTES = "_get_total_norm"  # looked up by clip_grad_norm_ each time it is called; absent before torch 2.6
EUCLIDEAN = 2.0
QUICK_LOOKS = 64  # steps between two full looks


Heard = tuple[list[Tensor], Tensor]  # gradients, in the order in which they were clipped, and their norm


_heard: list[Heard] = []  # at most one for each listener: they keep gradients alive
_listeners: WeakSet[object] = WeakSet()


def listen(listener: object) -> None:
    """Begin to listen, until `leave`."""
    found = getattr(clip_grad, _COMPUTES, None)
    if found is not None and not isinstance(found, _Listened):
        setattr(clip_grad, _COMPUTES, _Listened(found))
    _listeners.add(listener)


def leave(listener: object) -> None:
    """Stop listening; behind the last one, torch is left as it was."""
    _listeners.discard(listener)
    forget()
    found = getattr(clip_grad, _COMPUTES, None)
    if not _listeners and isinstance(found, _Listened):
        setattr(clip_grad, _COMPUTES, found.computes)


def forget() -> None:
    """Let go of the gradients that were heard of."""
    _heard.clear()


class _Listened:
    """torch's function in its own place: it does the same, and what it does is heard."""

    def __init__(self, computes: Callable[..., Tensor]) -> None:
        self.computes = computes

    def __call__(self, tensors: Any, norm_type: float = EUCLIDEAN, *args: Any, **kwargs: Any) -> Tensor:
        norm = self.computes(tensors, norm_type, *args, **kwargs)
        if _listeners and tensors.__class__ is list and tensors and norm_type == EUCLIDEAN:
            _heard.append((tensors, norm))
            del _heard[: -len(_listeners)]
        return norm


class Ear:
    """Listens for the norm of one optimizer's gradients.

    Comparing all of them at each step would cost more than the rest: between two full looks it is enough that
    there are as many as before, and that the first one stands where it stood.
    """

    def __init__(self) -> None:
        self._count = 0
        self._at = 0
        self._quick_looks = 0

    def quick(self, first: Tensor | None) -> Heard | None:
        """What was heard of the gradients among which this one was, by what the last full look found."""
        if first is None or not self._count or self._quick_looks >= QUICK_LOOKS:
            return None
        for heard in _heard:
            grads = heard[0]
            if len(grads) == self._count and grads[self._at] is first:
                self._quick_looks += 1
                return heard
        return None

    def full(self, grads: Sequence[Tensor]) -> Heard | None:
        """What was heard of just these gradients, in whatever order."""
        self._count = self._quick_looks = 0
        wanted = frozenset(map(id, grads)) if _heard else frozenset()
        for heard in _heard:
            if len(heard[0]) == len(wanted) and wanted == frozenset(map(id, heard[0])):
                self._count = len(heard[0])
                self._at = next(at for at, grad in enumerate(heard[0]) if grad is grads[0])
                return heard
        return None


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
