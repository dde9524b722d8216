"""Hears the norm that `torch.nn.utils.clip_grad_norm_` computes, so that no gradient is read twice.

The norm of all gradients costs as much as reading them all. A loop that clips has paid for it already, also
inside Lightning, transformers and Accelerate; what was computed there is taken, if it is of these gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor
from torch.nn.utils import clip_grad

# Looked up by clip_grad_norm_ each time it is called; absent before torch 2.6.
_COMPUTES, _CLIPS = "_get_total_norm", "_clip_grads_with_norm_"
EUCLIDEAN = 2.0
MARGIN = 1e-6  # that torch adds to a norm before it divides by it
QUICK_LOOKS = 64  # steps between two full looks
BY_DEFAULT = ((), (False,), (False, None))  # error_if_nonfinite and foreach, where nobody asked for anything

_DTYPE = attrgetter("dtype")


# Gradients, in the order in which they were clipped, their norm, and whether they are known to be alike.
Heard = tuple[list[Tensor], Tensor, bool]


_heard: list[Heard] = []  # at most one for each listener: they keep gradients alive
_listeners: WeakSet[object] = WeakSet()


def listen(listener: object) -> None:
    """Begin to listen, until `leave`."""
    for name, own in ((_COMPUTES, _Computes), (_CLIPS, _Clips)):
        found = getattr(clip_grad, name, None)
        if found is not None and not isinstance(found, own):
            setattr(clip_grad, name, own(found))
    _listeners.add(listener)


def leave(listener: object) -> None:
    """Stop listening; behind the last one, torch is left as it was."""
    _listeners.discard(listener)
    forget()
    for name in () if _listeners else (_COMPUTES, _CLIPS):
        found = getattr(clip_grad, name, None)
        if isinstance(found, (_Computes, _Clips)):
            setattr(clip_grad, name, found.by_torch)


def forget() -> None:
    """Let go of the gradients that were heard of."""
    _heard.clear()


class _Computes:
    """torch's function for the norm, in its own place: it gives the same, and what it gives is heard."""

    def __init__(self, by_torch: Callable[..., Tensor]) -> None:
        self.by_torch = by_torch

    def __call__(self, tensors: Any, norm_type: float = EUCLIDEAN, *args: Any, **kwargs: Any) -> Tensor:
        if not _listeners or tensors.__class__ is not list or not tensors or norm_type != EUCLIDEAN:
            return self.by_torch(tensors, norm_type, *args, **kwargs)
        alike = norm_of_alike(tensors) if args in BY_DEFAULT and not kwargs else None
        norm = self.by_torch(tensors, norm_type, *args, **kwargs) if alike is None else alike
        _heard.append((tensors, norm, alike is not None))
        del _heard[: -len(_listeners)]
        return norm


class _Clips:
    """torch's function that clips by a norm, in its own place: it does the same."""

    def __init__(self, by_torch: Callable[..., None]) -> None:
        self.by_torch = by_torch

    def __call__(self, parameters: Any, max_norm: float, total_norm: Tensor, foreach: Any = None) -> None:
        if foreach is not None or not clipped_alike(parameters, max_norm, total_norm):
            self.by_torch(parameters, max_norm, total_norm, foreach)


def norm_of_alike(tensors: list[Tensor]) -> Tensor | None:
    """What torch computes, to the bit, for tensors of one type on one GPU; None for others.

    torch sorts the tensors by type and device and moves each norm to the first device. For some hundred small
    tensors that costs the host more than all that Guard does at a step, and here there is nothing to sort.
    """
    if torch.compiler.is_dynamo_compiling() or torch.is_grad_enabled() or not tensors[0].is_cuda:
        return None
    if set(map(type, tensors)) != {Tensor} or len(set(map(_DTYPE, tensors))) != 1:
        return None
    try:
        norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors)))
    except RuntimeError:  # on several devices, or of a layout that has no such norm: torch says what is wrong
        return None
    return norm


def clipped_alike(parameters: Any, max_norm: float, total_norm: Tensor) -> bool:
    """Clip gradients just as torch does, where their norm was just heard; say whether that was done."""
    if not _heard or parameters.__class__ is not list or torch.is_grad_enabled():
        return False
    grads, norm, are_alike = _heard[-1]
    if not are_alike or norm is not total_norm:
        return False
    own = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if len(own) != len(grads) or not all(map(is_, own, grads)):
        return False
    torch._foreach_mul_(grads, torch.clamp(float(max_norm) / (total_norm + MARGIN), max=1.0))
    return True


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
