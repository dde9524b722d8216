"""The flight record: the format in which Guard writes down each step of a training.

Each start of a program writes two files, which only grow:

    flight-20260729T101502.123456Z-rank0.frec           a row of numbers for each optimizer step
    flight-20260729T101502.123456Z-rank0.events.jsonl   a line for each thing that happened

The first is MAGIC, then frames, numbers with the lowest byte first:

    u32 length of the payload | u32 CRC-32 of all that follows | u8 kind | u8 schema | payload

    SCHEMA  JSON: the names of the columns, which of them are sparse; in the first one also about the record
    ROW     i64 step, f64 Unix time, f32 for each column of its schema
    END     JSON: how the record was closed; without it the program was killed, or is still running

A row has exactly the columns that were measured: NaN is what was seen. Only in a sparse column NaN stands for
"not measured". A row with other columns begins another schema; a number may be given to another schema later.
Values are f32 because that is what the device holds, and half the size: a rate of 0.001 comes back with seven
digits, a power of two exactly. A number too large for it is written as the largest there is: infinity is what
was seen, too.
"""

from __future__ import annotations

import json
import math
import struct
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

MAGIC = b"FREC\r\n\x1a\x01"  # the last byte is the version; a copy made as text breaks the line end
SUFFIX = ".frec"
EVENTS_SUFFIX = ".events.jsonl"
EVENTS_KEY = "flight_record"  # in the first line of the events, with the version as its value
VERSION = 1

SCHEMA, ROW, END = 1, 2, 3
MOST_SCHEMAS = 256  # that are known at one time
LARGEST_PAYLOAD = 1 << 24  # bytes; a frame that claims more is damaged
LARGEST_F32 = 3.4028234663852886e38
LARGEST_INT = 1 << 63  # beyond it other programs lose digits, and Python refuses to read thousands of them
DEEPEST = 16  # levels of what is written as JSON; deeper is data, or something that holds itself

_HEADER = struct.Struct("<IIBB")
_CHECKED = 8  # bytes before those that the CRC is of
_ROW_HEAD = struct.Struct("<qd")
F32_SIZE = 4

HEADER_SIZE = _HEADER.size


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of some rows; `about` is what the record says of itself, in its first schema."""

    names: tuple[str, ...]
    sparse: frozenset[str] = frozenset()
    about: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def row_size(self) -> int:
        """The bytes of a row's whole frame."""
        return HEADER_SIZE + _ROW_HEAD.size + F32_SIZE * len(self.names)


class Frames(NamedTuple):
    """Whole frames one behind the other, alike but for what they hold: so many `times`, each of `size` bytes.

    `start` is where the first of them begins in the bytes they were found in.
    """

    kind: int
    schema: int
    start: int
    size: int
    times: int


@dataclass(frozen=True, slots=True)
class Found:
    """The whole frames at the beginning of some bytes, where they end, and what is wrong behind them."""

    frames: tuple[Frames, ...]
    end: int
    damage: str = ""


# --- writing ----------------------------------------------------------------------------------------


def record_name(start: float, rank: int) -> str:
    """The name of the files of one start, without their endings; names sort by time."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(start))
    return f"flight-{stamp}.{int(start % 1 * 1e6):06d}Z-rank{rank}"


def schema_frame(number: int, schema: Schema) -> bytes:
    """A frame that gives this number to a schema."""
    said = {"names": list(schema.names), "sparse": sorted(schema.sparse), **_if_any(about=schema.about)}
    return framed(SCHEMA, number, dumped(said).encode())


def row_packer(schema: Schema) -> struct.Struct:
    """What packs kind, number, step, time and the values of a row for `packed_frame`."""
    return struct.Struct(f"<BBqd{len(schema.names)}f")


def packed_frame(packed: bytes) -> bytes:
    """The frame of what a `row_packer` packed."""
    return struct.pack("<II", len(packed) - 2, zlib.crc32(packed)) + packed


def framed(kind: int, schema: int, payload: bytes) -> bytes:
    """A frame around a payload."""
    return packed_frame(bytes((kind, schema)) + payload)


def storable(values: Mapping[str, object]) -> dict[str, float]:
    """The values that a row can hold: numbers, those too large for f32 cut down to the largest there is."""
    found = {}
    for name, value in values.items():
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        except OverflowError:  # an integer beyond all floats
            number = LARGEST_F32
        if math.isfinite(number):
            number = max(-LARGEST_F32, min(LARGEST_F32, number))
        found[name] = number
    return found


def event_line(entries: Mapping[str, object]) -> bytes:
    """One line of the events; what is empty is left out."""
    kept = {key: value for key, value in entries.items() if value is not None and value not in ("", {})}
    return dumped(kept).encode() + b"\n"


def dumped(value: object) -> str:
    """JSON that any program can read: what is no number is spelled, what JSON does not know is described."""
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)


def _if_any(**entries: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entries.items() if value}


def _plain(value: object, depth: int = 0) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_INT else "a huge number"
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else str(float(value))
    if depth > DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, depth + 1) for inner in value]
    return str(value)


# --- reading ----------------------------------------------------------------------------------------


def frames_in(data: bytes) -> Found:
    """The whole frames at the beginning of these bytes, up to the first whose CRC is wrong."""
    found: list[Frames] = []
    alike, first, times = (0, 0, 0), 0, 0  # kind, schema and size of the frames that are being counted
    at, total, view, damage = 0, len(data), memoryview(data), ""
    while at + HEADER_SIZE <= total:
        length, crc, kind, schema = _HEADER.unpack_from(data, at)
        end = at + HEADER_SIZE + length
        if length > LARGEST_PAYLOAD:
            damage = f"a frame that claims {length:,} bytes"
            break
        if end > total:
            break
        if zlib.crc32(view[at + _CHECKED : end]) != crc:
            damage = "a frame whose checksum is wrong"
            break
        if (kind, schema, end - at) != alike:
            if times:
                found.append(Frames(alike[0], alike[1], first, alike[2], times))
            alike, first, times = (kind, schema, end - at), at, 0
        times += 1
        at = end
    if times:
        found.append(Frames(alike[0], alike[1], first, alike[2], times))
    return Found(tuple(found), at, damage)


def schema_in(payload: bytes) -> Schema | None:
    """The schema that a payload describes; None where it describes none."""
    said = object_in(payload)
    names, sparse, about = said.get("names"), said.get("sparse", []), said.get("about", {})
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        return None
    marked = [name for name in sparse if isinstance(name, str)] if isinstance(sparse, list) else []
    return Schema(tuple(names), frozenset(marked), about if isinstance(about, dict) else {})


def object_in(text: bytes) -> dict[str, object]:
    """The JSON object that some bytes hold; empty where they hold none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def whole_number(said: Mapping[str, object], key: str) -> int | None:
    """A whole number that is not negative under a key; None where there is none."""
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def moment(said: Mapping[str, object], key: str) -> float | None:
    """A Unix time under a key; None where there is none."""
    value = said.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0.0 < value < 1e11 else None
