"""One event as the template of all that have its length and its structure.

Records of one length are laid side by side: `columns[i]` holds bytes 8i to 8i+7 of all of them, in windows
that end with the CRC behind the data. A number is then two columns, shifted and joined.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stethoscope.logs._tensorboard.crc32c import by_distance, crcs, unmasked
from stethoscope.logs._tensorboard.layouts import Layout, NotAnEventError, Number, layout_of
from stethoscope.logs._tensorboard.tags import UNKNOWN, Names, Tags

MOST_VALUES = 64  # in one record; more are quick to parse for what they give
WIDEST_VARINT = 8  # bytes that fit a machine word; longer ones are negative or huge
CRC = 4

Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def columns_of(data: bytes, starts: Indices, length: int) -> Words:
    """The records of one length as columns of words."""
    width = _width(length)
    windows = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))
    # What is in front of the data in a window is the record's header, which is longer than a word.
    rows = windows[starts + (length + CRC - width)]
    return np.ascontiguousarray(rows.view("<u8").reshape(len(starts), width // 8).T)


def _width(length: int) -> int:
    return -(-(length + CRC) // 8) * 8


def field_of(columns: Words, length: int, start: int, size: int) -> Words:
    """Up to eight bytes of every record, from `start` on, as a number."""
    word, byte = divmod(start + _width(length) - length - CRC, 8)
    found: Words = columns[word] >> np.uint64(8 * byte)
    if byte + size > 8:
        found |= columns[word + 1] << np.uint64(64 - 8 * byte)
    return found if size == 8 else found & np.uint64((1 << 8 * size) - 1)


def varints_of(columns: Words, length: int, place: Number) -> Words:
    """The varint at one place of every record: seven bits of each byte, pushed together."""
    found = field_of(columns, length, place.start, place.size) & np.uint64(0x7F7F7F7F7F7F7F7F)
    for size, low, high, shift in _PUSHES:
        if place.size > size:
            found = (found & low) | ((found & high) >> shift)
    return found


# Neighbouring groups of seven bits are pushed together, then pairs of them, then fours.
_PUSHES = (
    (1, np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (2, np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (4, np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


def values_of(columns: Words, length: int, place: Number) -> npt.NDArray[np.float64]:
    """The number at one place of every record."""
    if place.size == 0:
        return np.zeros(columns.shape[1])
    if place.kind == "varint":
        return varints_of(columns, length, place).astype(np.float64)
    bits, kind = field_of(columns, length, place.start, place.size), place.kind
    if kind == "bf16":
        bits, kind = bits << np.uint64(16), "<f4"
    dtype = np.dtype(kind)
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        return bits.astype(f"<u{dtype.itemsize}").view(dtype).astype(np.float64)


# --- templates --------------------------------------------------------------------------------------


def template_of(record: bytes) -> Template | None:
    """The template that a record makes; None where it is too odd for one."""
    try:
        layout = layout_of(record)
    except NotAnEventError:
        return None
    numbers = [scalar.number for scalar in layout.scalars]
    varints = [place for place in (layout.step, *numbers) if place and place.kind.startswith("varint")]
    if not 0 < len(numbers) <= MOST_VALUES or layout.others or layout.texts:
        return None
    if any(place.size > WIDEST_VARINT or place.kind != "varint" for place in varints):
        return None
    if len(numbers) > 1:  # the tags of an event with several are always the same ones
        for scalar in layout.scalars:
            layout.structure[scalar.tag] = b"\xff" * (scalar.tag.stop - scalar.tag.start)
    return Template(record, layout)


class Template:
    """A record whose structure others share, and the tags that were met in such records."""

    def __init__(self, record: bytes, layout: Layout) -> None:
        self.layout, self.length = layout, len(record)
        self._first = self._words(record)
        self._structure = self._words(bytes(layout.structure))
        whole = np.frombuffer(record, np.uint8)
        self._crc = crcs(whole, np.array([0]), np.array([self.length]))[0]
        self._own_tags = [record[scalar.tag] for scalar in layout.scalars]
        tag = bytearray(self.length)
        if len(layout.scalars) == 1:
            span = layout.scalars[0].tag
            tag[span] = b"\xff" * (span.stop - span.start)
        self._tag = self._words(bytes(tag))
        self._tag_words = np.flatnonzero(self._tag).tolist()
        self._names: Names | None = None  # where the tags differ
        self._numbers = np.zeros(0, np.int32)  # of these names among all tags,
        self._added = np.zeros(0, np.uint32)  # and what their bytes add to the CRC

    def fits(self, columns: Words) -> Mask:
        """Which records have this structure."""
        different = np.zeros(columns.shape[1], np.uint64)
        for column, first, structure in zip(columns, self._first, self._structure, strict=True):
            different |= (column ^ first) & structure
        fits: Mask = different == 0
        return fits

    def steps(self, columns: Words) -> Indices:
        """The step of every record; zero is not written."""
        if self.layout.step is None:
            return np.zeros(columns.shape[1], np.int64)
        return varints_of(columns, self.length, self.layout.step).view(np.int64)

    def check(self, columns: Words, tags: Tags) -> tuple[npt.NDArray[np.int32], Mask, Mask]:
        """The tags of records that fit, which of the records are known by tag, and whose CRC is right."""
        varying = np.array(
            [np.bitwise_or.reduce(column ^ first) for column, first in zip(columns, self._first, strict=True)]
        )
        if (varying & self._tag).any():
            found = self._look_up(columns, tags)
            numbers, known = self._numbers.take(found, mode="clip")[None], found != UNKNOWN
            crc = self._added.take(found, mode="clip")
            crc ^= self._crc ^ self._of_bytes(self._first, self._tag)
        else:
            own = np.array([tags.number(tag) for tag in self._own_tags], np.int32)
            numbers, known = np.repeat(own[:, None], columns.shape[1], axis=1), np.True_
            crc = np.full(columns.shape[1], self._crc)
        for place in np.flatnonzero((varying & ~self._tag).view(np.uint8)).tolist():
            table = self._table(place)
            if table is not None:
                word, byte = divmod(place, 8)
                bytes_there = (columns[word] >> np.uint64(8 * byte)) & np.uint64(0xFF)
                crc ^= table.take(bytes_there.view(np.int64), mode="clip")
                crc ^= table[(int(self._first[word]) >> 8 * byte) & 0xFF]
        stored = unmasked(field_of(columns, self.length, self.length, CRC).astype(np.uint32))
        return numbers, np.broadcast_to(known, crc.shape), (crc == stored) & known

    def _look_up(self, columns: Words, tags: Tags) -> Indices:
        """Which of the names that this template has met each record holds."""
        if self._names is None:
            self._names = Names(len(self._tag_words))
        found = self._names.look_up([columns[word] & self._tag[word] for word in self._tag_words])
        fresh = self._names.keys[len(self._numbers) :]
        if len(fresh):
            span = self.layout.scalars[0].tag
            before = self._in_front() - 8 * self._tag_words[0]
            names = [key.tobytes()[span.start + before : span.stop + before] for key in fresh]
            numbers = np.array([tags.number(name) for name in names], np.int32)
            whole = np.zeros((len(fresh), len(self._tag)), np.uint64)
            whole[:, self._tag_words] = fresh
            added = np.array([self._of_bytes(words, self._tag) for words in whole], np.uint32)
            self._numbers = np.concatenate([self._numbers, numbers])
            self._added = np.concatenate([self._added, added])
        return found

    def _of_bytes(self, words: Words, mask: Words) -> np.uint32:
        """What the bytes of a record that a mask chooses add to its CRC."""
        total = np.uint32(0)
        data = words.tobytes()
        for place in np.flatnonzero(mask.view(np.uint8)).tolist():
            table = self._table(place)
            if table is not None:
                total ^= table[data[place]]
        return total

    def _table(self, place: int) -> npt.NDArray[np.uint32] | None:
        """What a byte at this place of the window adds to the CRC; None in front of the data and behind."""
        at = place - self._in_front()
        return by_distance(self.length)[self.length - 1 - at] if 0 <= at < self.length else None

    def _words(self, data: bytes) -> Words:
        return np.frombuffer(bytes(self._in_front()) + data + bytes(CRC), "<u8").astype(np.uint64)

    def _in_front(self) -> int:
        return _width(self.length) - self.length - CRC
