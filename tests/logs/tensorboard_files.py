"""TensorBoard event files for tests: a writer, and a slow reader that shares nothing with the real one."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

RECORDED = Path(__file__).parent.parent / "fixtures" / "logs" / "recorded" / "tensorboard"
NAME = "events.out.tfevents.1700000000.host.1"
BEGAN = 1_700_000_000.0

Told = dict[str, list[tuple[int, float]]]


def recorded(folder: str) -> Path:
    """The recorded file of a folder that holds one."""
    (path,) = (RECORDED / folder).glob("*tfevents*")
    return path


# --- writing ----------------------------------------------------------------------------------------


def crc_of(data: bytes) -> int:
    """CRC-32C byte by byte, masked as TensorFlow stores it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]


def framed(data: bytes) -> bytes:
    """A TFRecord."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", crc_of(length)) + data + struct.pack("<I", crc_of(data))


def varint(value: int) -> bytes:
    """A number as protobuf writes it, negative ones in ten bytes."""
    value &= 0xFFFFFFFFFFFFFFFF
    spelled = bytearray()
    while value > 0x7F:
        spelled.append(value & 0x7F | 0x80)
        value >>= 7
    spelled.append(value)
    return bytes(spelled)


def held(key: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(key << 3 | 2) + varint(len(data)) + data


def simple(tag: str, value: float) -> bytes:
    """A Value of a float."""
    return held(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def tensor(tag: str, content: bytes, plugin: str = "scalars") -> bytes:
    """A Value of a tensor."""
    metadata = held(9, held(1, held(1, plugin.encode()))) if plugin else b""
    return held(1, tag.encode()) + metadata + held(8, content)


def floats(value: float) -> bytes:
    """A TensorProto of one float, as PyTorch writes it."""
    return b"\x08\x01" + held(2, b"") + held(5, struct.pack("<f", value))


def event(step: int, *values: bytes, wall: float = BEGAN) -> bytes:
    """A record of one event."""
    spelled = b"\x10" + varint(step) if step else b""
    summary = b"".join(held(1, value) for value in values)
    return framed(b"\x09" + struct.pack("<d", wall) + spelled + held(5, summary))


VERSION = framed(b"\x09" + struct.pack("<d", BEGAN) + held(3, b"brain.Event:2"))


def run_of(tags: int, steps: int) -> list[bytes]:
    """The records of a run that logs so many tags at every step, in both encodings."""
    records = [VERSION]
    for step in range(steps):
        for tag in range(tags):
            name, value = f"group{tag % 3}/signal_{tag}", step + tag / 100
            body = tensor(name, floats(value)) if tag % 2 else simple(name, value)
            records.append(event(step, body, wall=BEGAN + step + tag / 1000))
    return records


# --- reading, slowly --------------------------------------------------------------------------------


def slow_read(data: bytes) -> Told:
    """The scalars of an undamaged file, decoded one by one."""
    told: Told = {}
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        for step, tag, value in _scalars(data[at + 12 : at + 12 + length]):
            told.setdefault(tag, []).append((step, value))
        at += 16 + length
    return told


def _scalars(record: bytes) -> Iterator[tuple[int, str, float]]:
    fields = list(_fields(record))
    step = next((value for key, value in fields if key == 2), 0)
    step = step - 2**64 if step >= 2**63 else step
    for summary in (value for key, value in fields if key == 5):
        for message in (value for key, value in _fields(summary) if key == 1):
            parts = dict(_fields(message))
            plugin = dict(_fields(dict(_fields(parts.get(9, b""))).get(1, b""))).get(1, b"")
            tag = parts.get(1, b"").decode()
            if 2 in parts:
                yield step, tag, struct.unpack("<f", parts[2])[0]
            elif 8 in parts and plugin in (b"", b"scalars", b"tensor"):
                value = _element(list(_fields(parts[8])))
                if value is not None:
                    yield step, tag, value


_FORMATS = {1: "f4", 2: "f8", 3: "i4", 4: "u1", 5: "i2", 6: "i1", 9: "i8", 19: "f2", 22: "u4", 23: "u8"}


def _element(fields: list[tuple[int, object]]) -> float | None:
    parts = dict(fields)
    sizes = [dict(_fields(dim)).get(1, 0) for key, dim in _fields(parts.get(2, b"")) if key == 2]
    if np.prod(sizes) != 1 or parts.get(1) == 7:
        return None
    if 4 in parts:
        return float(np.frombuffer(parts[4], _FORMATS[parts[1]])[0])
    for key, kind in ((5, "<f"), (6, "<d")):
        if key in parts:
            return struct.unpack(kind, parts[key])[0]
    for key in (7, 10, 16, 17):
        if key in parts:
            found = _varint(parts[key], 0)[0] if isinstance(parts[key], bytes) else parts[key]
            return float(found - 2**64 if found >= 2**63 else found)
    if 13 in parts:
        bits = _varint(parts[13], 0)[0]
        if bits > 0xFFFF:
            return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
        kind = "<f2" if parts[1] == 19 else None
        return float(np.array([bits], "<u2").view(kind)[0]) if kind else _bfloat(bits)
    return 0.0


def _bfloat(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def _fields(message: bytes) -> Iterator[tuple[int, object]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or _varint(message, at)
            value, at = message[at : at + size], at + size
        yield key >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def total(told: Told, wanted: Iterable[str] | None = None) -> int:
    """How many values there are."""
    return sum(len(points) for tag, points in told.items() if wanted is None or tag in wanted)
