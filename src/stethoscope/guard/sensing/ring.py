"""Numbers of a device, held as the tensors they are, and brought to the host a window of steps at a time.

One kernel gathers a whole window, so that a step launches none, and nothing waits for the device. A number
that somebody writes to before it is gathered is lost, and the next ones of its column are copied at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BUFFERS = 3  # windows on their way: one that is judged, one that is copied, one that is begun


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """A number on a device, and how often its memory had been written to when it was seen."""

    number: Tensor
    writes: int

    @property
    def is_fresh(self) -> bool:
        """Whether nobody has written to it since."""
        return _writes(self.number) == self.writes


def sight(number: Tensor) -> Sight:
    """See a number as it is."""
    return Sight(number, _writes(number))


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Rows on their way to the host; `rows` waits until they have arrived."""

    columns: tuple[str, ...]
    _held: Tensor
    _missing: frozenset[int]
    _arrived: torch.cuda.Event | None = None

    def rows(self) -> list[dict[str, float]]:
        """What was seen at each step, by name; what is missing is absent."""
        if self._arrived is not None:
            self._arrived.synchronize()
        numbers = self._held.tolist()
        if not self._missing:
            width = len(self.columns)
            return [
                dict(zip(self.columns, numbers[at : at + width], strict=True))
                for at in range(0, len(numbers), width)
            ]
        return [dict(self._present(at, numbers)) for at in range(0, len(numbers), len(self.columns))]

    def _present(self, first: int, numbers: list[float]) -> list[tuple[str, float]]:
        row = enumerate(self.columns, first)
        return [(name, numbers[at]) for at, name in row if at not in self._missing]


class Ring:
    """A window of rows. `put` holds one; `send` gathers them and begins a copy to the host."""

    def __init__(self, device: torch.device, columns: tuple[str, ...], length: int) -> None:
        self.columns = columns
        self.length = length
        self.filled = 0
        self._sights: list[Sight | None] = []
        self._places: dict[int, list[int]] = {}  # by address, which numbers of the window are there
        self._lost: set[int] = set()
        self._copied: set[int] = set()  # columns that are not left where they are
        self._unknown = torch.full((), math.nan, device=device)
        self._buffers = [self._buffer() for _ in range(BUFFERS)] if device.type == "cuda" else []
        self._sent = 0

    @property
    def is_full(self) -> bool:
        """Whether no further row fits."""
        return self.filled >= self.length

    def put(self, row: Sequence[Sight | None]) -> None:
        """Hold one row of 0-dimensional float32 tensors of this device; None where one is missing."""
        for column, seen in enumerate(row):
            if seen is not None:
                seen = sight(seen.number.clone()) if column in self._copied else seen
                self._note_place(column, seen.number)
            self._sights.append(seen)
        self.filled += 1

    def send(self) -> Window:
        """Begin to copy what is there to the host, and begin a window."""
        numbers = [self._number(at, seen) for at, seen in enumerate(self._sights)]
        gathered = torch.stack(numbers)
        missing = frozenset(self._lost.union(at for at, seen in enumerate(self._sights) if seen is None))
        self.filled = 0
        self._sights.clear()
        self._places.clear()
        self._lost.clear()
        if not self._buffers:
            return Window(self.columns, gathered.cpu(), missing)
        held = self._buffers[self._sent % BUFFERS][: len(numbers)]
        self._sent += 1
        held.copy_(gathered, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        return Window(self.columns, held, missing, arrived)

    def _note_place(self, column: int, number: Tensor) -> None:
        """Notice memory that is used at each step, as by CUDA graphs: it holds the last number only."""
        here = self._places.setdefault(number.data_ptr(), [])
        if here and here[0] < self.filled * len(self.columns):  # by an earlier row
            self._lost.update(here)
            self._copied.add(column)
            here.clear()
        here.append(len(self._sights))

    def _number(self, at: int, seen: Sight | None) -> Tensor:
        if seen is None or at in self._lost:
            return self._unknown
        if not seen.is_fresh:
            self._lost.add(at)
            self._copied.add(at % len(self.columns))
            return self._unknown
        return seen.number

    def _buffer(self) -> Tensor:
        return torch.empty(self.length * len(self.columns), dtype=torch.float32, pin_memory=True)


def _writes(number: Tensor) -> int:
    """How often the memory of a tensor was written to; tensors of the inference mode do not count it."""
    return 0 if number.is_inference() else number._version
