"""The names of a Parquet file's columns, read from its footer without any library.

The file ends with a footer, its length and `PAR1`. The footer is a Thrift struct in compact encoding, and its
second field lists the columns: a tree, written out depth first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.logs._reading.head import Head

MAGIC = b"PAR1"
LARGEST_FOOTER = 16 << 20  # bytes
MOST_COLUMNS = 20_000
DEEPEST = 16  # structs within structs

# Kinds of values in the compact encoding.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = frozenset({4, 5, 6})


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column: its path, `a/b` for a field within a struct, and whether it holds numbers."""

    name: str
    numeric: bool


def leaves_of(head: Head) -> tuple[Leaf, ...]:
    """The columns of a file; none where its footer cannot be understood."""
    try:
        return tuple(_leaves(_elements(_footer(head))))
    except (ValueError, IndexError, OSError):
        return ()


def _footer(head: Head) -> bytes:
    with head.path.open("rb") as stream:
        end = stream.seek(-8, 2) + 8
        tail = stream.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or length > min(end - 8, LARGEST_FOOTER):
            raise ValueError("no footer")
        stream.seek(end - 8 - length)
        return stream.read(length)


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    kind: int | None
    children: int


def _leaves(elements: list[_Element]) -> list[Leaf]:
    """The columns of the tree; its first element is the root."""
    found: list[Leaf] = []
    open_groups: list[tuple[str, int]] = []
    for at, element in enumerate(elements):
        path = f"{open_groups[-1][0]}/{element.name}" if len(open_groups) > 1 else element.name
        if open_groups:
            open_groups[-1] = (open_groups[-1][0], open_groups[-1][1] - 1)
        if element.children:
            open_groups.append(("" if at == 0 else path, element.children))
        else:
            # Booleans, 96-bit times and byte arrays are no measurements.
            found.append(Leaf(path, element.kind in (1, 2, 4, 5)))
        while open_groups and open_groups[-1][1] <= 0:
            open_groups.pop()
    return found


def _elements(data: bytes) -> list[_Element]:
    thrift = _Thrift(data)
    for number, kind in thrift.fields():
        if number != 2:
            thrift.skip(kind, 0)
            continue
        count, of = thrift.list_header()
        if kind != _LIST or of != _STRUCT or count > MOST_COLUMNS:
            raise ValueError("no list of columns")
        return [_element(thrift) for _ in range(count)]
    return []


def _element(thrift: _Thrift) -> _Element:
    name, kind, children = "", None, 0
    for number, of in thrift.fields():
        if number == 4 and of == _BINARY:
            name = thrift.binary().decode("utf-8", errors="replace")
        elif number in (1, 5) and of in _INTEGERS:
            value = thrift.integer()
            kind, children = (value, children) if number == 1 else (kind, value)
        else:
            thrift.skip(of, 0)
    return _Element(name, kind, max(children, 0))


class _Thrift:
    """Reads values off a text in compact encoding; raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """The numbers and kinds of a struct's fields; the caller reads or skips each value."""
        number = 0
        while (header := self.byte()) != _STOP:
            kind, step = header & 0x0F, header >> 4
            number = number + step if step else self.integer()
            yield number, kind

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("no integer")

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        length = self.varint()
        if length > len(self.data) - self.at:
            raise ValueError("longer than the footer")
        self.at += length
        return self.data[self.at - length : self.at]

    def list_header(self) -> tuple[int, int]:
        header = self.byte()
        count = header >> 4
        return (self.varint() if count == 15 else count), header & 0x0F

    def skip(self, kind: int, depth: int) -> None:
        """Pass over a value."""
        if depth > DEEPEST:
            raise ValueError("nested too deep")
        if kind in _INTEGERS:
            self.varint()
        elif kind == _BYTE:
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self.binary()
        elif kind in (_LIST, _SET):
            count, of = self.list_header()
            for _ in range(count):
                self.skip(_BYTE if of in (_TRUE, _FALSE) else of, depth + 1)
        elif kind == _STRUCT:
            for _, of in self.fields():
                self.skip(of, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError("a kind that no footer holds")
