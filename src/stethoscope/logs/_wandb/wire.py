"""Protobuf's wire format, as far as W&B's records need it: fields of varints, fixed words and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]

MOST_VARINT_BYTES = 10
_FIXED_64 = struct.Struct("<Q")
_FIXED_32 = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")


class BadMessage(ValueError):
    """Bytes that are no protobuf message."""


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message by number, in the order written; raises BadMessage where it is none."""
    at, end = 0, len(message)
    while at < end:
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 2:
            length, at = varint(message, at)
            if length > end - at:
                raise BadMessage
            yield number, message[at : at + length]
            at += length
        elif kind == 0:
            value, at = varint(message, at)
            yield number, value
        elif kind in (1, 5):
            word = _FIXED_64 if kind == 1 else _FIXED_32
            if end - at < word.size:
                raise BadMessage
            yield number, word.unpack_from(message, at)[0]
            at += word.size
        else:
            raise BadMessage


def varint(message: bytes, at: int) -> tuple[int, int]:
    """The integer that begins at an offset, and the offset behind it."""
    value = shift = 0
    for byte in message[at : at + MOST_VARINT_BYTES]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise BadMessage


def signed(value: int) -> int:
    """A varint as the 64-bit integer it stands for."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def zigzag(value: int) -> int:
    """A varint as the signed integer of protobuf's `sint64`."""
    return (value >> 1) ^ -(value & 1)


def double(word: int) -> float:
    """A fixed 64-bit word as the float it holds."""
    value: float = _DOUBLE.unpack(_FIXED_64.pack(word))[0]
    return value


def text(value: int | bytes) -> str:
    """A field as text."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""


def moment(value: int | bytes) -> float | None:
    """A `google.protobuf.Timestamp` in Unix time."""
    if not isinstance(value, bytes):
        return None
    held = {number: part for number, part in fields(value) if isinstance(part, int)}
    seconds = signed(held.get(1, 0))
    return seconds + held.get(2, 0) * 1e-9 if 0 < seconds < 1 << 40 else None
