"""Cuts a W&B run file into its records.

The file begins with `:W&B`, two magic bytes and a version; then come blocks of 32 KiB, counted from the
file's first byte, as in LevelDB's log:

    crc32 (4 bytes) | length (2) | kind (1) | data      kind: 1 whole, 2 first, 3 middle, 4 last part

A part never crosses the end of a block; fewer than seven bytes at a block's end are padding. The checksum
covers the kind and the data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from zlib import crc32

from stethoscope.errors import UnreadableFile

MAGIC = b":W&B"
FILE_HEADER = 7  # bytes: magic, two bytes that are always the same, version
BLOCK = 32768
LARGEST_RECORD = 64 << 20  # bytes; W&B itself refuses what is longer than its server takes
PLACES_NAMED = 3  # damaged places that a note spells out

_HEADER = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@dataclass(slots=True)
class Frames:
    """Records as their bytes come; `damaged` are the offsets of parts that were skipped."""

    file: str
    done: int = 0
    damaged: list[int] = field(default_factory=list)
    times_damaged: int = 0
    cut_short: bool = False
    open_parts: list[bytes] = field(default_factory=list)
    open_bytes: int = 0
    lost: bool = False  # the parts that follow belong to a record whose beginning is gone

    def cut(self, data: bytes, last: bool) -> tuple[list[bytes], int]:
        """The records that are whole, and how many bytes are done with."""
        records: list[bytes] = []
        view, size, at = memoryview(data), len(data), self._after_header(data)
        while at >= 0:
            left = BLOCK - (self.done + at) % BLOCK
            if left < _HEADER.size:
                if at + left > size:
                    break
                at += left
                continue
            if at + _HEADER.size > size:
                break
            checksum, length, kind = _HEADER.unpack_from(data, at)
            end = at + _HEADER.size + length
            possible = _WHOLE <= kind <= _LAST and end - at <= left
            if possible and end > size:
                break
            if possible and crc32(view[at + 6 : end]) == checksum:
                self._part(kind, data[at + _HEADER.size : end], records, self.done + at)
                at = end
                continue
            onwards = self._onwards(view, end if possible else -1, at + left)
            if not last and (onwards is None or onwards > size):
                break  # what stands behind the damage is not here yet
            if last and kind == 0 and data.count(0, at, size) == size - at:
                break  # a file that was given its length before its content
            self._note_damage(self.done + at)
            at = min(end if onwards is None else onwards, size)
        at = max(at, 0)
        if last:
            self.cut_short = at < size or bool(self.open_parts)
        self.done += size if last else at
        return records, size if last else at

    def notes(self) -> list[str]:
        """What was passed over, in sentences."""
        said = []
        if self.times_damaged:
            places = ", ".join(f"{place:,}" for place in self.damaged)
            more = " ..." if self.times_damaged > len(self.damaged) else ""
            one = self.times_damaged == 1
            said.append(
                f"{self.times_damaged:,} damaged record{'' if one else 's'} skipped at "
                f"byte{'' if one else 's'} {places}{more}"
            )
        if self.cut_short:
            said.append("the file ends in the middle of a record: the run was still writing, or was killed")
        return said

    def _after_header(self, data: bytes) -> int:
        """Where the first record of these bytes begins; -1 while that is not known."""
        if self.done:
            return 0
        if len(data) < FILE_HEADER:
            return -1
        if not data.startswith(MAGIC):
            raise UnreadableFile(f"{self.file}: does not begin as a W&B run file does")
        return FILE_HEADER

    def _part(self, kind: int, part: bytes, records: list[bytes], place: int) -> None:
        if kind == _WHOLE:
            self._forget_open(place)
            records.append(part)
            return
        if kind == _FIRST:
            self._forget_open(place)
            self.lost = False
        elif not self.open_parts:
            if not self.lost:
                self._note_damage(place)
            self.lost = kind != _LAST
            return
        self.open_parts.append(part)
        self.open_bytes += len(part)
        if self.open_bytes > LARGEST_RECORD:
            self._forget_open(place)
            self.lost = True
        elif kind == _LAST:
            records.append(b"".join(self.open_parts))
            self.open_parts, self.open_bytes = [], 0

    def _forget_open(self, place: int) -> None:
        """Drop a record whose last part never came."""
        if self.open_parts:
            self.open_parts, self.open_bytes = [], 0
            self._note_damage(place)

    def _note_damage(self, place: int) -> None:
        self.times_damaged += 1
        if len(self.damaged) < PLACES_NAMED:
            self.damaged.append(place)
        if self.open_parts:
            self.open_parts, self.open_bytes, self.lost = [], 0, True

    def _onwards(self, view: memoryview, end: int, block_end: int) -> int | None:
        """Where to read on behind damage: at the next record if this one's length held, else the next block.

        None where the bytes that decide it are missing.
        """
        if end < 0 or block_end - end < _HEADER.size:
            return block_end
        if end + _HEADER.size > len(view):
            return None
        checksum, length, _ = _HEADER.unpack_from(view, end)
        behind = end + _HEADER.size + length
        if behind > block_end:
            return block_end
        if behind > len(view):
            return None
        return end if crc32(view[end + 6 : behind]) == checksum else block_end
