"""Where the numbers stand in a TensorBoard event, a protobuf message.

    Event    1: wall time, double   2: step, varint   3: file version   4, 9: graph   5: Summary
    Summary  1: Value, many
    Value    1: tag   2: simple_value, float   4: image   5: histogram   6: audio   8: Tensor   9: Metadata
    Tensor   1: type   2: shape   4: bytes   5: float_val   6: double_val   7: int_val   8: string_val ...
    Metadata 1: plugin {1: name, 2: content}   4: data class

An event is not decoded here but located: each number is an offset, a size and how it is written. Beside
them stands a mask of the bytes that make the structure (keys, lengths, the continuation bits of varints,
types and shapes). Records of one length that agree in those bytes have their numbers in the same places.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stethoscope.logs._reading.numbers import LAST_STEP

LONGEST_VARINT = 10  # bytes
MOST_VALUES = 4096  # in one event; more are data that was logged as names

# TensorFlow's types by number: how a value stands in tensor_content, and in which field otherwise.
_CONTENT = dict(
    zip(
        (1, 2, 3, 4, 5, 6, 9, 10, 14, 17, 19, 22, 23),
        ("<f4", "<f8", "<i4", "u1", "<i2", "i1", "<i8", "u1", "bf16", "<u2", "<f2", "<u4", "<u8"),
        strict=True,
    )
)
_FIXED_FIELDS = {5: "<f4", 6: "<f8"}
# int, int64, bool, half, uint32 and uint64
_VARINT_FIELDS = {7: "varint", 10: "varint", 11: "varint", 13: "", 16: "varint", 17: "varint <u8"}
_STRING = 7
_HALVES = {14: "varint bf16", 19: "varint <f2"}

Field = tuple[int, int, int, int]  # number, wire type, first byte of what it holds, and the byte behind
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_OTHER_VALUES = {3: "histogram", 4: "image", 5: "histogram", 6: "audio"}
_OTHER_EVENTS = {4: "graph", 8: "run metadata", 9: "graph"}
# Plugins whose tensors of one element are scalars: only the first event of a tag need name its plugin, and
# PyTorch's add_tensor names "tensor".
_OF_NUMBERS = frozenset({"", "scalars", "tensor"})
_PLUGIN = re.compile(r"[\w.-]{1,40}")
_SPOKEN_PLUGINS = {"histograms": "histogram", "images": "image"}


class NotAnEventError(Exception):
    """These bytes are no event."""


@dataclass(frozen=True, slots=True)
class Number:
    """Where one number stands: `kind` is a NumPy type, "bf16", or a varint of some type."""

    start: int
    size: int
    kind: str

    def value(self, record: bytes) -> float:
        """The number in this record."""
        data = record[self.start : self.start + self.size]
        if self.kind.startswith("varint"):
            bits = varint_in(data)
            if self.kind == "varint <u8":
                return float(bits)
            if self.kind == "varint":
                return float(bits - (1 << 64) if bits >> 63 else bits)
            # TensorFlow keeps the bits of the half there, PyTorch those of the same number as a float.
            size, kind = (2, self.kind.removeprefix("varint ")) if bits <= 0xFFFF else (4, "<f4")
            data = (bits & 0xFFFFFFFF).to_bytes(size, "little")
        else:
            kind = self.kind
        if kind == "bf16":
            data, kind = b"\0\0" + data, "<f4"
        return float(np.frombuffer(data, kind)[0]) if data else 0.0


@dataclass(frozen=True, slots=True)
class Scalar:
    """A tag, by where it stands, and its number."""

    tag: slice
    number: Number


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was logged, or the content of the hparams plugin."""

    tag: str
    plugin: str
    content: bytes


@dataclass(slots=True)
class Layout:
    """Where everything stands in one event, and what in it is no scalar."""

    wall: int | None = None
    step: Number | None = None
    scalars: list[Scalar] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    version: bool = False
    structure: bytearray = field(default_factory=bytearray)

    def wall_time(self, record: bytes) -> float | None:
        """When the event was written."""
        return None if self.wall is None else float(struct.unpack_from("<d", record, self.wall)[0])

    def step_in(self, record: bytes) -> int:
        """The step; zero is not written."""
        if self.step is None:
            return 0
        step = varint_in(record[self.step.start : self.step.start + self.step.size])
        step = step - (1 << 64) if step >> 63 else step
        return min(max(step, -LAST_STEP), LAST_STEP)


def layout_of(record: bytes) -> Layout:
    """Locate the numbers of an event; raises NotAnEventError."""
    layout = Layout(structure=bytearray(b"\xff" * len(record)))
    for key, kind, start, end in fields_of(record, 0, len(record)):
        if key == 1 and kind == _FIXED64:
            layout.wall = start
            layout.structure[start:end] = bytes(8)
        elif key == 2 and kind == _VARINT:
            layout.step = Number(start, end - start, "varint")
            layout.structure[start:end] = b"\x80" * (end - start)
        elif key == 3 and kind == _BYTES:
            layout.version = True
        elif key == 5 and kind == _BYTES:
            _summary(record, start, end, layout)
        elif key in _OTHER_EVENTS:
            layout.others.append(_OTHER_EVENTS[key])
    return layout


def _summary(record: bytes, start: int, end: int, layout: Layout) -> None:
    for key, kind, first, last in fields_of(record, start, end):
        if key == 1 and kind == _BYTES:
            _value(record, first, last, layout)
        if len(layout.scalars) > MOST_VALUES:
            raise NotAnEventError


@dataclass(slots=True)
class _Value:
    """The parts of a Value as they are met; of several that exclude each other the last one counts."""

    tag: slice = field(default_factory=lambda: slice(0, 0))
    number: Number | None = None
    tensor: slice | None = None
    other: str = ""
    plugin: bytes = b""
    content: slice = field(default_factory=lambda: slice(0, 0))


def _value(record: bytes, start: int, end: int, layout: Layout) -> None:
    value = _Value()
    for key, kind, first, last in fields_of(record, start, end):
        if key == 1 and kind == _BYTES:
            value.tag = slice(first, last)
        elif key == 2 and kind == _FIXED32:
            value.number, value.tensor, value.other = Number(first, 4, "<f4"), None, ""
        elif key == 8 and kind == _BYTES:
            value.number, value.tensor, value.other = None, slice(first, last), ""
        elif key == 9 and kind == _BYTES:
            _metadata(record, first, last, value)
        elif key in _OTHER_VALUES:
            value.number, value.tensor, value.other = None, None, _OTHER_VALUES[key]
    _understood(record, value, layout)


def _metadata(record: bytes, start: int, end: int, value: _Value) -> None:
    for key, kind, first, last in fields_of(record, start, end):
        if key == 1 and kind == _BYTES:
            for inner, inner_kind, a, b in fields_of(record, first, last):
                if inner == 1 and inner_kind == _BYTES:
                    value.plugin = record[a:b]
                elif inner == 2 and inner_kind == _BYTES:
                    value.content = slice(a, b)


def _understood(record: bytes, value: _Value, layout: Layout) -> None:
    """Note a value as a scalar, as a text worth keeping, or as something else."""
    plugin = value.plugin.decode("utf-8", "replace")
    if plugin == "hparams":
        layout.texts.append(Text(_tag(record, value), plugin, record[value.content]))
        return
    words: list[bytes] = []
    if value.tensor is not None and plugin in _OF_NUMBERS | {"text"}:
        value.number = _tensor(record, value.tensor, words)
    if value.number is not None and plugin in _OF_NUMBERS:
        layout.scalars.append(Scalar(value.tag, value.number))
        layout.structure[value.tag] = bytes(value.tag.stop - value.tag.start)
        bits = b"\x80" if value.number.kind.startswith("varint") else b"\0"
        span = slice(value.number.start, value.number.start + value.number.size)
        layout.structure[span] = bits * value.number.size
    elif words:
        layout.texts.append(Text(_tag(record, value), "text", b"\n".join(words)))
    else:
        layout.others.append(value.other or _spoken(plugin))


def _spoken(plugin: str) -> str:
    if not plugin:
        return "tensor"
    return _SPOKEN_PLUGINS.get(plugin, plugin) if _PLUGIN.fullmatch(plugin) else "unknown kind"


def _tag(record: bytes, value: _Value) -> str:
    return record[value.tag].decode("utf-8", "replace")


def _tensor(record: bytes, span: slice, words: list[bytes]) -> Number | None:
    """The number of a tensor with one element; its strings go to `words`."""
    number, dtype, elements = None, 0, 1
    fields: list[tuple[int, int, int, int]] = list(fields_of(record, span.start, span.stop))
    for key, kind, start, end in fields:
        if key == 1 and kind == _VARINT:
            dtype = varint_in(record[start:end])
        elif key == 2 and kind == _BYTES:
            elements = _elements(record, start, end)
    if dtype == _STRING:
        words.extend(record[start:end] for key, kind, start, end in fields if key == 8 and kind == _BYTES)
        return None
    if dtype not in _CONTENT or elements != 1:
        return None
    for key, kind, start, end in fields:
        number = _held(record, dtype, (key, kind, start, end)) or number
    # A zero may be left out altogether.
    return number or Number(span.stop, 0, "<f4")


def _held(record: bytes, dtype: int, held: Field) -> Number | None:
    """The one number that a field of a tensor holds; None for other fields, and for several numbers."""
    key, kind, start, end = held
    content = _CONTENT[dtype]
    if key == 4 and kind == _BYTES:
        size = 2 if content == "bf16" else np.dtype(content).itemsize
        return Number(start, size, content) if end - start == size else None
    if key in _FIXED_FIELDS:
        size = np.dtype(_FIXED_FIELDS[key]).itemsize
        return Number(start, size, _FIXED_FIELDS[key]) if end - start == size else None
    if key in _VARINT_FIELDS and start < end == _varint_at(record, start, end)[1]:
        return Number(start, end - start, _VARINT_FIELDS[key] if key != 13 else _HALVES.get(dtype, "varint"))
    return None


def _elements(record: bytes, start: int, end: int) -> int:
    """How many elements a shape has; -1 where it does not say."""
    elements = 1
    for key, kind, first, last in fields_of(record, start, end):
        if key == 3:
            return -1
        if key == 2 and kind == _BYTES:
            size = 0
            for inner, inner_kind, a, b in fields_of(record, first, last):
                if inner == 1 and inner_kind == _VARINT:
                    size = varint_in(record[a:b])
            elements *= size
    return elements


# --- the wire ---------------------------------------------------------------------------------------


def fields_of(record: bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of a message; raises NotAnEventError where they do not fill it exactly."""
    while at < end:
        key, at = _varint_at(record, at, end)
        kind = key & 7
        if kind == _BYTES:
            size, at = _varint_at(record, at, end)
            stop = at + size
        elif kind == _VARINT:
            _, stop = _varint_at(record, at, end)
        elif kind == _FIXED64:
            stop = at + 8
        elif kind == _FIXED32:
            stop = at + 4
        else:
            raise NotAnEventError
        if stop > end or key < 8:
            raise NotAnEventError
        yield key >> 3, kind, at, stop
        at = stop


def _varint_at(record: bytes, at: int, end: int) -> tuple[int, int]:
    byte = record[at] if at < end else 0x80
    if byte < 0x80:
        return byte, at + 1
    for stop in range(at + 1, min(at + LONGEST_VARINT, end)):
        if record[stop] < 0x80:
            return varint_in(record[at : stop + 1]), stop + 1
    raise NotAnEventError


def varint_in(data: bytes) -> int:
    """The number that these bytes spell."""
    value = 0
    for at, byte in enumerate(data):
        value |= (byte & 0x7F) << (7 * at)
    return value & 0xFFFFFFFFFFFFFFFF
