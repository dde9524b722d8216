"""TFRecord framing: where the records of a stretch of bytes begin, and which bytes belong to none.

    length: 8 bytes | CRC of the length: 4 | data: length bytes | CRC of the data: 4

Records follow each other without a mark, so finding them is a chain. To walk it in bulk, all places that
look like a short length (a byte and then seven zeros, of which four lie in one aligned word) are found at
once and checked by their CRC; where each begins at the end of the one before, the chain is proved. What is
left, long records and damage, is walked record by record. After damage, the next length whose CRC is right
begins the chain again. Only the CRC of the length is looked at here.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._tensorboard.crc32c import crc32c, crcs, masked, of_lengths, of_short_lengths

HEADER = 12  # bytes before the data
AROUND = 16  # bytes of a record that are not its data
LARGEST_RECORD = 64 << 20  # bytes; graphs and images are smaller, so a larger length is a lie
SEARCHED_AT_ONCE = 1 << 16
LONG = 1024  # bytes from which on a checksum is quicker by columns

Words = npt.NDArray[np.uint64] | npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frames:
    """Where the data of each record begins, its length, and what was passed over as (first byte, bytes).

    `done` bytes need not be seen again. `lost` says that the chain is broken at `done`: the next bytes are
    searched for a record. `cut` bytes after `done` are the beginning of a record that is not whole.
    """

    starts: Indices
    lengths: Indices
    passed_over: tuple[tuple[int, int], ...]
    done: int
    lost: bool
    cut: int


def frames(data: bytes, last: bool, lost: bool = False) -> Frames:
    """Find the records; `lost` as the frames of the bytes before said, `last` where nothing follows."""
    if not lost and not last and _needs_more(data):
        return Frames(_NONE, _NONE, (), 0, False, len(data))
    return _Walk(data, last).frames(lost)


def header_at(data: bytes, at: int) -> int | None:
    """The length of the record that begins here; None where none does."""
    header = data[at : at + HEADER]
    length = int.from_bytes(header[:8], "little")
    if len(header) < HEADER or not 0 < length <= LARGEST_RECORD:
        return None
    return length if masked(crc32c(header[:8])) == int.from_bytes(header[8:], "little") else None


def next_header(data: bytes, first: int) -> int | None:
    """Where the first record from here on begins, whether it is whole or not."""
    return Search(data).next_header(first)


@dataclass(slots=True)
class Search:
    """Finds headers in bytes; what was searched once is remembered, so that lies in a row cost no more."""

    data: bytes
    searched: range = range(0)
    headers: list[int] = field(default_factory=list)  # in what was searched

    def next_header(self, first: int) -> int | None:
        """Where the first record from here on begins."""
        last = len(self.data) - HEADER
        while first <= last:
            if first not in self.searched:
                self.searched = range(first, min(first + SEARCHED_AT_ONCE, last + 1))
                self.headers = self._in(self.searched)
            at = bisect_left(self.headers, first)
            if at < len(self.headers):
                return self.headers[at]
            first = self.searched.stop
        return None

    def _in(self, places: range) -> list[int]:
        lengths = np.ndarray((len(places),), "<u8", self.data, places.start, (1,))
        stored = np.ndarray((len(places),), "<u4", self.data, places.start + 8, (1,))
        # A length without a CRC is no header: so a hole of zeros is crossed quickly.
        likely = np.flatnonzero((lengths - np.uint64(1) < np.uint64(LARGEST_RECORD)) & (stored != 0))
        right = of_lengths(lengths[likely]) == stored[likely]
        found: list[int] = (likely[right] + places.start).tolist()
        return found


_NONE: Indices = np.zeros(0, np.int64)


def _needs_more(data: bytes) -> bool:
    """Whether not even the first record is whole: a long one is not searched again at every call."""
    length = header_at(data, 0)
    return len(data) < HEADER or (length is not None and AROUND + length > len(data))


@dataclass(slots=True)
class _Walk:
    data: bytes
    last: bool
    starts: list[Indices] = field(default_factory=list)
    lengths: list[Indices] = field(default_factory=list)
    passed_over: list[tuple[int, int]] = field(default_factory=list)
    checkable: int = 0  # bytes of suspicious records that may still be checked, so that none can stall us

    def frames(self, lost: bool) -> Frames:
        data, size = self.data, len(self.data)
        begins, lengths = _short_records(data)
        ends = begins + lengths + AROUND
        # The candidate of each chain with which it ends.
        breaks = np.append(np.flatnonzero(ends[:-1] != begins[1:]), len(begins) - 1).tolist()
        self.checkable, search = 2 * size, Search(data)
        at, cut = 0, 0
        while at < size:
            if lost:
                found = search.next_header(at)
                # The last bytes may be the beginning of a header.
                stop = found if found is not None else size if self.last else max(at, size - HEADER + 1)
                self._pass_over(at, stop)
                at = stop
                if found is None:
                    break
                lost = False
            one = int(np.searchsorted(begins, at))
            if one < len(begins) and begins[one] == at:
                end = breaks[bisect_left(breaks, one)] + 1
                if ends[end - 1] > size:
                    end -= 1
                if end > one:
                    self.starts.append(begins[one:end] + HEADER)
                    self.lengths.append(lengths[one:end])
                    at = int(ends[end - 1])
                    continue
            length = header_at(data, at)
            if length is not None and at + AROUND + length <= size:
                self.starts.append(np.array([at + HEADER]))
                self.lengths.append(np.array([length]))
                at += AROUND + length
                continue
            if length is not None or size - at < HEADER:
                cut = size - at
                # A length may lie: what is behind it may still be records.
                inside = search.next_header(at + 1) if self.last else None
                if inside is None:
                    break
                cut = 0
                self._pass_over(at, inside)
                at = inside
                continue
            at, lost = self._before_damage(at), True
        if not self.last and not lost and size - at < HEADER and not self._is_right(at):
            # Bytes may be missing from the last record: only what follows it can tell.
            at -= AROUND + int(self._take_back()[1])
        return Frames(
            np.concatenate([_NONE, *self.starts]),
            np.concatenate([_NONE, *self.lengths]),
            tuple(self.passed_over),
            at,
            lost,
            cut,
        )

    def _pass_over(self, first: int, end: int) -> None:
        if end > first:
            self.passed_over.append((first, end - first))

    def _before_damage(self, at: int) -> int:
        """From where to search for the next record: within the last one, if bytes are missing from it."""
        if self._is_right(at):
            return at
        start, _ = self._take_back()
        return start

    def _is_right(self, at: int) -> bool:
        """Whether the record that ends here has the right CRC, as far as that may be checked."""
        if not self.starts or self.lengths[-1][-1] > self.checkable:
            return True
        start, length = int(self.starts[-1][-1]), int(self.lengths[-1][-1])
        self.checkable -= length
        record = self.data[start : start + length]
        if length < LONG:
            crc = crc32c(record)
        else:
            crc = int(crcs(np.frombuffer(record, np.uint8), np.array([0]), np.array([length]))[0])
        return masked(crc) == int.from_bytes(self.data[at - 4 : at], "little")

    def _take_back(self) -> tuple[int, int]:
        """Forget the last record; gives where its data begins, and its length."""
        start, length = int(self.starts[-1][-1]), int(self.lengths[-1][-1])
        self.starts[-1], self.lengths[-1] = self.starts[-1][:-1], self.lengths[-1][:-1]
        if not len(self.starts[-1]):
            del self.starts[-1], self.lengths[-1]
        return start, length


def _short_records(data: bytes) -> tuple[Indices, Indices]:
    """The places where a record of fewer than 65,536 bytes begins, by the CRC of its length; nearly all."""
    if len(data) < HEADER:
        return _NONE, _NONE
    words = np.frombuffer(data, "<u4", len(data) // 4)
    at = np.flatnonzero(words == 0)
    at = at[1:] if len(at) and at[0] == 0 else at
    before = words[at - 1]
    # The last byte that is not zero before the zeros is the highest of the length.
    high = 4 * (at - 1) + (before > 0xFF) + (before > 0xFFFF) + (before > 0xFFFFFF)
    high = high[(before > 0) & (high >= 1) & (high + HEADER <= len(data))]
    if not len(high):
        return _NONE, _NONE
    lengths = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    stored = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))
    begins = high[_right(lengths, stored, high, 1 << 8)]
    if len(begins) < len(high):
        longer = high - 1
        begins = np.union1d(begins, longer[_right(lengths, stored, longer, 1 << 16)])
    return begins, lengths[begins].astype(np.int64)


def _right(lengths: Words, stored: Words, at: Indices, most: int) -> npt.NDArray[np.bool_]:
    """Where a length below `most` stands before its CRC."""
    found = lengths[at]
    known = of_short_lengths().take(found.view(np.int64), mode="clip")
    right: npt.NDArray[np.bool_] = (found < most) & (known == stored[at + 8])
    return right
