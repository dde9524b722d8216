"""Numbers of a device, held as the tensors they are, and brought to the host a window of steps at a time.

One kernel gathers a whole window, so that a step launches none, and nothing waits for the device. A number
that somebody writes to before it is gathered is left out, and `is_steady` says that this has happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BUFFERS = 3  # windows on their way: one that is judged, one that is copied, one that is begun

Sight = tuple[Tensor, int]  # a number on a device, and how often its memory had been written to by then
Row = Mapping[str, Sight]


def sight(number: Tensor) -> Sight:
    """See a number as it is, without the graph behind it."""
    number = number.detach()
    return number, _writes(number)


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Rows on their way to the host; `rows` waits until they have arrived."""

    length: int
    _names: list[tuple[int, str]]  # for each number, its row and its name
    _held: Tensor
    _arrived: torch.cuda.Event | None = None

    def rows(self) -> list[dict[str, float]]:
        """What was seen at each step, by name."""
        if self._arrived is not None:
            self._arrived.synchronize()
        found: list[dict[str, float]] = [{} for _ in range(self.length)]
        for (row, name), number in zip(self._names, self._held.tolist(), strict=True):
            found[row][name] = number
        return found


class Ring:
    """Brings rows of numbers from one device to the host."""

    def __init__(self, device: torch.device) -> None:
        self.is_steady = True
        self._device = device
        self._buffers: list[Tensor] = []
        self._sent = 0

    def send(self, rows: Sequence[Row]) -> Window:
        """Begin to copy the numbers of some steps to the host."""
        names: list[tuple[int, str]] = []
        numbers: list[Tensor] = []
        lost = _overwritten(rows)
        for at, row in enumerate(rows):
            for name, (number, writes) in row.items():
                if (at, name) in lost or _writes(number) != writes:
                    self.is_steady = False
                else:
                    names.append((at, name))
                    numbers.append(_alike(number, self._device))
        gathered = torch.stack(numbers) if numbers else torch.empty(0, device="cpu")
        if gathered.device.type != "cuda":
            return Window(len(rows), names, gathered.cpu())
        held = self._buffer(len(numbers))
        held.copy_(gathered, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        return Window(len(rows), names, held, arrived)

    def _buffer(self, size: int) -> Tensor:
        """Pinned memory that no window is on its way into; taking it may wait, so all is taken at once."""
        if not self._buffers or len(self._buffers[0]) < size:
            self._buffers = [
                torch.empty(size, dtype=torch.float32, device="cpu", pin_memory=True) for _ in range(BUFFERS)
            ]
        self._sent += 1
        return self._buffers[self._sent % BUFFERS][:size]


def _overwritten(rows: Sequence[Row]) -> set[tuple[int, str]]:
    """Numbers in memory that a later row uses too, as with CUDA graphs: it holds the last one only."""
    lost: set[tuple[int, str]] = set()
    last: dict[int, int] = {}
    for at in range(len(rows) - 1, -1, -1):
        for name, (number, _) in rows[at].items():
            try:
                if last.setdefault(number.data_ptr(), at) != at:
                    lost.add((at, name))
            except RuntimeError:  # said of what a later replay of a graph has overwritten
                lost.add((at, name))
    return lost


def _alike(number: Tensor, device: torch.device) -> Tensor:
    """One number as float32 on the device; the mean of a loss that was not reduced."""
    if number.dim():
        number = number.float().mean()
    if number.dtype is torch.float32 and number.device == device:
        return number
    return number.to(device, torch.float32, non_blocking=True)


def _writes(number: Tensor) -> int:
    """How often the memory of a tensor was written to."""
    try:
        return number._version
    except RuntimeError:  # tensors of the inference mode do not count
        return 0
