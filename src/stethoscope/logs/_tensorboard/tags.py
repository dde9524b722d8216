"""The tags of a file of events, and how those of very many records are told apart at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.points import MAX_SERIES

BUCKETS = 1 << 16
UNKNOWN = -1

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Tags:
    """The names met so far, numbered in the order of their coming."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    refused: int = 0  # values under names that were too many

    def number(self, name: bytes) -> int:
        """The tag's number; UNKNOWN where there are too many."""
        known = self.numbers.get(name)
        if known is None:
            if len(self.numbers) >= MAX_SERIES:
                return UNKNOWN
            known = self.numbers[name] = len(self.numbers)
        return known


class Names:
    """The different contents of a few columns, found by hashing them and then compared.

    What stands in `keys[i]` was the i-th to be met. A bucket holds one of them; a content whose bucket
    another one took is found by sorting, which is slower.
    """

    def __init__(self, width: int) -> None:
        self.known: dict[bytes, int] = {}
        self.keys = np.zeros((0, width), np.uint64)
        self._buckets = np.full(BUCKETS, UNKNOWN, np.int16)
        draw = np.random.default_rng(0)
        self._factors = draw.integers(1 << 62, 1 << 63, width, dtype=np.uint64) | np.uint64(1)

    def look_up(self, columns: Sequence[Words]) -> npt.NDArray[np.int64]:
        """Which of the keys each row is; UNKNOWN where there are too many, or two have one hash."""
        hashed = np.zeros(len(columns[0]), np.uint64)
        for column, factor in zip(columns, self._factors, strict=True):
            hashed = (hashed ^ column) * factor
            hashed ^= hashed >> np.uint64(29)
        bucket = (hashed >> np.uint64(48)).view(np.int64)
        found = self._buckets.take(bucket, mode="clip").astype(np.int64)
        missing = np.flatnonzero(~self._same(columns, found))
        if len(missing):
            _, firsts, which = np.unique(hashed[missing], return_index=True, return_inverse=True)
            rows = np.stack([column[missing[firsts]] for column in columns], axis=1)
            numbers = self._met(rows)
            free = self._buckets[bucket[missing[firsts]]] == UNKNOWN
            self._buckets[bucket[missing[firsts]][free]] = numbers[free]
            found[missing] = numbers[which]
            found[~self._same(columns, found)] = UNKNOWN
        return found

    def _same(self, columns: Sequence[Words], found: npt.NDArray[np.int64]) -> Mask:
        if not len(self.keys):
            return np.zeros(len(found), np.bool_)
        same: Mask = found != UNKNOWN
        for column, keys in zip(columns, self.keys.T, strict=True):
            same &= keys.take(found, mode="clip") == column
        return same

    def _met(self, rows: Words) -> npt.NDArray[np.int64]:
        """The numbers of these contents; those never met before are added to the keys."""
        numbers, fresh = np.full(len(rows), UNKNOWN), []
        for at, row in enumerate(rows):
            key = row.tobytes()
            if key not in self.known and len(self.known) < MAX_SERIES:
                self.known[key] = len(self.known)
                fresh.append(row)
            numbers[at] = self.known.get(key, UNKNOWN)
        self.keys = np.concatenate([self.keys, *(row[None] for row in fresh)])
        return numbers
