"""Copies of tensors in host memory that is taken once and written to again and again.

From a GPU the values travel without anybody waiting: they are copied within the device first, where there is
room, and from there to page-locked memory behind the back of the training. Where there is none they travel at
once, and the kernels that follow wait for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

CUDA: Any = torch.cuda  # its streams and events have no types

ALIGNMENT = 64  # bytes; every dtype may begin there
# Page-locked memory is handed out in powers of two, so tensors share pieces of this size.
PIECE_BYTES = 256 << 20
ROOM = 2  # times what is copied must lie unused in the device's cache: it then asks the driver for nothing

Layout = tuple[tuple[torch.Size, torch.dtype], ...]


class HostCopies:
    """Host memory for one copy of each of some tensors, which are dense and hold values."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.layout = layout(tensors)
        self._streams: dict[torch.device, Any] = {}
        self._events: list[Any] = []
        self._is_good = torch.ones((), dtype=torch.bool, device="cpu", pin_memory=_is_pinned(tensors))
        self.views = _views(tensors)

    def fits(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the memory is of the size and kind that these tensors need."""
        return self.layout == layout(tensors)

    @torch.no_grad()
    def copy_from(self, tensors: Sequence[Tensor], is_good: Tensor) -> None:
        """Copy the values, and beside them one flag; `is_done` says when they are there."""
        self._events = []
        self._is_good.copy_(is_good, non_blocking=True)
        by_device: dict[torch.device, tuple[list[Tensor], list[Tensor]]] = {}
        for view, tensor in zip(self.views, tensors, strict=True):
            views, sources = by_device.setdefault(tensor.device, ([], []))
            views.append(view)
            sources.append(basis(tensor))
        # A device that holds the flag and nothing else is waited for as well.
        by_device.setdefault(is_good.device, ([], []))
        for device, (views, sources) in by_device.items():
            self._copy_from_one(device, views, sources)

    @property
    def is_done(self) -> bool:
        """Whether all values have arrived; asks, and does not wait."""
        return all(event.query() for event in self._events)

    def wait(self) -> None:
        """Wait until all values have arrived."""
        for event in self._events:
            event.synchronize()

    @property
    def is_good(self) -> bool:
        """The flag that came with the values; call `wait` first, or see that it `is_done`."""
        return bool(self._is_good)

    def _copy_from_one(self, device: torch.device, views: list[Tensor], sources: list[Tensor]) -> None:
        if device.type == "cuda":
            with torch.cuda.device(device):
                self._events.append(self._copy_from_cuda(device, views, sources))
        elif sources:
            torch._foreach_copy_(views, sources)

    def _copy_from_cuda(self, device: torch.device, views: list[Tensor], sources: list[Tensor]) -> Any:
        main = torch.cuda.current_stream(device)
        if device not in self._streams:
            self._streams[device] = CUDA.Stream(device)
        aside = self._streams[device]
        event = CUDA.Event()
        staged = _staged(sources, device)
        if staged is None:
            main.wait_stream(aside)  # the same memory may still be written to from there
            torch._foreach_copy_(views, sources, non_blocking=True)
            event.record(main)
            return event
        aside.wait_stream(main)
        with torch.cuda.stream(aside):
            if staged:
                torch._foreach_copy_(views, staged, non_blocking=True)
            event.record(aside)
        for tensor in staged:
            tensor.record_stream(aside)  # its memory may be used again, but not before it has been read
        return event


def layout(tensors: Sequence[Tensor]) -> Layout:
    """What host memory for these tensors looks like."""
    return tuple((basis(tensor).shape, tensor.dtype) for tensor in tensors)


def bytes_needed(tensors: Sequence[Tensor]) -> int:
    """How much host memory a copy of each of these tensors takes."""
    pieces = [size for size, _ in _pieces(tensors)]
    return sum(1 << (size - 1).bit_length() for size in pieces) if _is_pinned(tensors) else sum(pieces)


def basis(tensor: Tensor) -> Tensor:
    """A tensor without the dimensions along which it is one value seen many times."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dimension] > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def _views(tensors: Sequence[Tensor]) -> list[Tensor]:
    pinned = _is_pinned(tensors)
    views: list[Tensor] = []
    for size, held in _pieces(tensors):
        memory = torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=pinned)
        for start, tensor in held:
            here = memory[start : start + _bytes(tensor)]
            views.append(here.view(tensor.dtype).view(basis(tensor).shape))
    return views


def _pieces(tensors: Sequence[Tensor]) -> Iterator[tuple[int, list[tuple[int, Tensor]]]]:
    """The sizes of the pieces of memory, and which tensor begins where in each."""
    filled, held = 0, list[tuple[int, Tensor]]()
    for tensor in tensors:
        needed = math.ceil(_bytes(tensor) / ALIGNMENT) * ALIGNMENT
        if held and filled + needed > PIECE_BYTES:
            yield filled, held
            filled, held = 0, []
        held.append((filled, tensor))
        filled += needed
    if held:
        yield max(filled, ALIGNMENT), held


def _bytes(tensor: Tensor) -> int:
    return basis(tensor).numel() * tensor.element_size()


def _is_pinned(tensors: Sequence[Tensor]) -> bool:
    return any(tensor.is_cuda for tensor in tensors)


def _staged(sources: list[Tensor], device: torch.device) -> list[Tensor] | None:
    """Copies on the device itself, made of memory that its cache holds; None where that is too little."""
    spare = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if sources and spare < ROOM * sum(_bytes(source) for source in sources):
        return None
    try:
        copies = [torch.empty_like(source) for source in sources]
    except torch.cuda.OutOfMemoryError:
        return None
    if copies:
        torch._foreach_copy_(copies, sources)
    return copies
