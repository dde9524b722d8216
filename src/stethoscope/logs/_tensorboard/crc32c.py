"""CRC-32C of very many short records at once.

A CRC is linear over GF(2): that of a message is the XOR of what each byte adds by itself, and what a byte
adds depends only on its value and on how many bytes follow it. So there is a table of 256 entries for
every distance from the end, and the CRC of a million records is a few table look-ups per byte, each over
a whole column of records. Zeros in front of a message add nothing.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]

POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
ALL = 0xFFFFFFFF
MASK_DELTA = 0xA282EAD8  # TensorFlow stores a CRC rotated and with this added
BLOCK = 64  # bytes whose tables are walked one after the other
AT_ONCE = 2048  # blocks; their columns fit a processor's cache


def crc32c(data: bytes) -> int:
    """The CRC of a few bytes."""
    table = _by_byte()
    crc = ALL
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ ALL


def masked(crc: int) -> int:
    """A CRC as TensorFlow stores it."""
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & ALL


def unmasked(stored: Words) -> Words:
    """The CRCs that were stored so."""
    turned = stored - np.uint32(MASK_DELTA)
    return (turned >> np.uint32(17)) | (turned << np.uint32(15))


def crcs(data: npt.NDArray[np.uint8], starts: Indices, lengths: Indices) -> Words:
    """The CRC of each of these stretches of `data`; none may be empty."""
    blocks = (lengths + (BLOCK - 1)) // BLOCK
    firsts = np.cumsum(blocks) - blocks  # of each stretch, among all blocks
    owner = np.repeat(np.arange(len(starts)), blocks)
    # Blocks are counted back from a stretch's end, so that only its first block is not whole.
    behind = np.repeat(firsts + blocks, blocks) - 1 - np.arange(len(owner))
    begins = (starts + lengths)[owner] - BLOCK * (behind + 1)
    found = _of_blocks(data, begins, starts[owner])
    moved = _advanced(found, BLOCK * behind)
    whole = np.bitwise_xor.reduceat(moved, firsts)
    initial = _advanced(np.full(len(starts), ALL, np.uint32), lengths)
    return whole ^ initial ^ np.uint32(ALL)


def _of_blocks(data: npt.NDArray[np.uint8], begins: Indices, owned_from: Indices) -> Words:
    """What each block of 64 bytes adds at the end of a message; bytes before `owned_from` are zeros."""
    padded = np.concatenate([np.zeros(BLOCK, np.uint8), data])
    windows = np.lib.stride_tricks.sliding_window_view(padded, BLOCK)
    total = np.zeros(len(begins), np.uint32)
    tables = by_distance(BLOCK)
    for first in range(0, len(begins), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        rows = windows[begins[some] + BLOCK]
        foreign = owned_from[some] - begins[some]
        partial = np.flatnonzero(foreign > 0)
        rows[partial] *= foreign[partial, None] <= np.arange(BLOCK)
        columns = rows.T.astype(np.intp)
        for at in range(BLOCK):
            total[some] ^= tables[BLOCK - 1 - at].take(columns[at], mode="clip")
    return total


def _advanced(crc: Words, count: Indices) -> Words:
    """Each CRC after so many zero bytes more."""
    crc = crc.copy()
    for power in range(int(count.max(initial=0)).bit_length()):
        moving = np.flatnonzero((count >> power) & 1)
        crc[moving] = _moved(crc[moving], _shift(power))
    return crc


def _moved(crc: Words, shift: Words) -> Words:
    moved: Words = shift[0][crc & np.uint32(0xFF)]
    for byte in (1, 2, 3):
        moved = moved ^ shift[byte][(crc >> np.uint32(8 * byte)) & np.uint32(0xFF)]
    return moved


# --- tables -----------------------------------------------------------------------------------------


@cache
def _by_byte() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


def by_distance(count: int) -> Words:
    """What a byte adds to the CRC: `tables[bytes behind it][its value]`, for up to `count` bytes."""
    return _tables(1 << (count - 1).bit_length())


@cache
def _tables(count: int) -> Words:
    tables = np.empty((count, 256), np.uint32)
    tables[0] = _by_byte()
    for at in range(1, count):
        before = tables[at - 1]
        tables[at] = tables[0][before & np.uint32(0xFF)] ^ (before >> np.uint32(8))
    return tables


@cache
def _shift(power: int) -> Words:
    """Tables that move a CRC, one byte of it each, by 2**power zero bytes."""
    if power == 0:
        shift = np.zeros((4, 256), np.uint32)
        shift[0] = _by_byte()
        for byte in (1, 2, 3):
            shift[byte] = np.arange(256, dtype=np.uint32) << np.uint32(8 * (byte - 1))
        return shift
    half = _shift(power - 1)
    return np.stack([_moved(half[byte], half) for byte in range(4)])


def of_lengths(lengths: npt.NDArray[np.uint64]) -> Words:
    """The stored CRC of each of these record lengths, in eight bytes; they are below 2**32."""
    tables = by_distance(8)
    crc = np.full(len(lengths), crc32c(bytes(8)), np.uint32)
    for at in range(4):
        byte = (lengths >> np.uint64(8 * at)) & np.uint64(0xFF)
        crc ^= tables[7 - at].take(byte.view(np.int64), mode="clip") ^ tables[7 - at][0]
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK_DELTA)


@cache
def of_short_lengths() -> Words:
    """The stored CRC of each record length below 65,536."""
    return of_lengths(np.arange(1 << 16, dtype=np.uint64))
