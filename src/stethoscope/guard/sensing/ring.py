"""Numbers of a device, held as the tensors they are, and brought to the host a window of steps at a time.

One kernel gathers a whole window, so that a step launches none, and nothing waits for the device. A number
that somebody writes to before it is gathered is left out, and `is_steady` says that this has happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BUFFERS = 3  # windows on their way: one that is judged, one that is copied, one that is begun


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Numbers of one step on a device, by name; `writes` says how often the memory of each was written to."""

    names: list[str]
    numbers: list[Tensor]
    writes: list[int]


def writes_to(number: Tensor) -> int:
    """How often the memory of a tensor was written to."""
    try:
        return number._version
    except RuntimeError:  # tensors of the inference mode do not count
        return 0


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Rows on their way to the host; `rows` waits until they have arrived."""

    _names: list[list[str]]  # of each row
    _held: Tensor
    _arrived: torch.cuda.Event | None = None

    def rows(self) -> list[dict[str, float]]:
        """What was seen at each step, by name."""
        if self._arrived is not None:
            self._arrived.synchronize()
        numbers = iter(self._held.tolist())
        # The names come first: zip asks for them before it asks for a number that belongs to the next row.
        return [dict(zip(names, numbers, strict=False)) for names in self._names]


class Ring:
    """Brings rows of numbers from one device to the host."""

    def __init__(self, device: torch.device) -> None:
        self.is_steady = True
        self._device = device
        self._buffers: list[Tensor] = []
        self._sent = 0

    def send(self, rows: Sequence[Seen]) -> Window:
        """Begin to copy the numbers of some steps to the host."""
        numbers = [number for row in rows for number in row.numbers]
        if not _are_as_seen(numbers, [writes for row in rows for writes in row.writes]):
            rows = [_without(row, lost) for row, lost in zip(rows, _overwritten(rows), strict=True)]
            self.is_steady &= len(numbers) == sum(len(row.numbers) for row in rows)
            numbers = [number for row in rows for number in row.numbers]
        names = [row.names for row in rows]
        gathered = _gathered(numbers, self._device)
        if gathered.device.type != "cuda":
            return Window(names, gathered.cpu())
        held = self._buffer(len(numbers))
        held.copy_(gathered, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        return Window(names, held, arrived)

    def _buffer(self, size: int) -> Tensor:
        """Pinned memory that no window is on its way into; taking it may wait, so all is taken at once."""
        if not self._buffers or len(self._buffers[0]) < size:
            self._buffers = [
                torch.empty(size, dtype=torch.float32, device="cpu", pin_memory=True) for _ in range(BUFFERS)
            ]
        self._sent += 1
        return self._buffers[self._sent % BUFFERS][:size]


def _are_as_seen(numbers: Sequence[Tensor], writes: Sequence[int]) -> bool:
    """Whether nobody has written to any of them, and each has its own memory."""
    try:
        return [number._version for number in numbers] == writes and len(
            {number.data_ptr() for number in numbers}
        ) == len(numbers)
    except RuntimeError:  # of the inference mode, or overwritten by a replay of a graph
        return False


def _overwritten(rows: Sequence[Seen]) -> list[set[int]]:
    """By row, the places of numbers that are not what they were.

    Memory that a later row uses too, as with CUDA graphs, holds the number of the last one only.
    """
    lost: list[set[int]] = [set() for _ in rows]
    last: dict[int, int] = {}
    for at in range(len(rows) - 1, -1, -1):
        for place, (number, writes) in enumerate(zip(rows[at].numbers, rows[at].writes, strict=True)):
            try:
                is_last = last.setdefault(number.data_ptr(), at) == at
            except RuntimeError:  # said of what a later replay of a graph has overwritten
                is_last = False
            if not is_last or writes_to(number) != writes:
                lost[at].add(place)
    return lost


def _without(row: Seen, lost: set[int]) -> Seen:
    kept = [place for place in range(len(row.names)) if place not in lost]
    return Seen(
        [row.names[place] for place in kept],
        [row.numbers[place] for place in kept],
        [row.writes[place] for place in kept],
    )


def _gathered(numbers: Sequence[Tensor], device: torch.device) -> Tensor:
    """All numbers in one tensor, with one kernel where they are alike."""
    if not numbers:
        return torch.empty(0, device="cpu")
    try:
        gathered = torch.stack(list(numbers))
        if gathered.dim() == 1 and gathered.device == device:
            return gathered.float()
    except RuntimeError:  # of several shapes, or on several devices
        pass
    return torch.stack([_alike(number, device) for number in numbers])


def _alike(number: Tensor, device: torch.device) -> Tensor:
    """One number as float32 on the device; the mean of a loss that was not reduced."""
    if number.dim():
        number = number.float().mean()
    return number.to(device, torch.float32, non_blocking=True)
