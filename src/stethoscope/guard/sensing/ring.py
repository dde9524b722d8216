"""Rows of numbers on a device, brought to the host a window at a time, without waiting for the device."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

BUFFERS = 3  # windows on their way: one that is judged, one that is copied, one that is begun


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Rows on their way to the host; `rows` waits until they have arrived."""

    columns: tuple[str, ...]
    _held: Tensor
    _arrived: torch.cuda.Event | None = None

    def rows(self) -> list[list[float]]:
        """The rows, one list of numbers for each step."""
        if self._arrived is not None:
            self._arrived.synchronize()
        found: list[list[float]] = self._held.tolist()
        return found


class Ring:
    """A window of rows on a device. `put` writes one with one kernel; `send` begins a copy to the host."""

    def __init__(self, device: torch.device, columns: tuple[str, ...], length: int) -> None:
        self.columns = columns
        self.length = length
        self.filled = 0
        self._rows = torch.full((length, len(columns)), math.nan, dtype=torch.float32, device=device)
        self._slots = self._rows.unbind(0)  # a view of each row, made once
        self._buffers = [self._buffer() for _ in range(BUFFERS)] if device.type == "cuda" else []
        self._sent = 0

    @property
    def is_full(self) -> bool:
        """Whether no further row fits."""
        return self.filled >= self.length

    def put(self, values: list[Tensor]) -> None:
        """Write one row of 0-dimensional float32 tensors of this device."""
        torch.stack(values, out=self._slots[self.filled])
        self.filled += 1

    def device_rows(self) -> Tensor:
        """The rows so far, on the device."""
        return self._rows[: self.filled]

    def send(self) -> Window:
        """Begin to copy what is there to the host, and begin a window."""
        rows, self.filled = self.device_rows(), 0
        if not self._buffers:
            return Window(self.columns, rows.clone() if rows.device.type == "cpu" else rows.cpu())
        held = self._buffers[self._sent % BUFFERS][: len(rows)]
        self._sent += 1
        held.copy_(rows, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        return Window(self.columns, held, arrived)

    def _buffer(self) -> Tensor:
        return torch.empty_like(self._rows, device="cpu", pin_memory=True)
