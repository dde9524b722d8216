"""The two ends of a file, by which formats are recognised."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.packed import packing_of, unpacked
from stethoscope.logs._reading.plain import plain

HEAD_BYTES = 65536
LONGEST_SHOWN = 8_000  # characters of a line by which a format is recognised
LARGEST_DOCUMENT = 256 << 20  # bytes of a file that has to be read as a whole

# Documents and source quote logs without being any.
_NOT_LOG_SUFFIXES = frozenset(
    {
        *(".py", ".pyi", ".ipynb", ".md", ".rst", ".html", ".htm", ".tex", ".yml", ".yaml", ".toml", ".ini"),
        *(
            ".cfg",
            ".sh",
            ".bash",
            ".js",
            ".ts",
            ".c",
            ".h",
            ".cc",
            ".cpp",
            ".cu",
            ".cuh",
            ".java",
            ".go",
            ".rs",
        ),
        *(".diff", ".patch", ".xml", ".svg", ".css"),
    }
)
_NOT_LOG_NAMES = (
    "readme",
    "license",
    "licence",
    "changelog",
    "requirements",
    "authors",
    "contributing",
    "makefile",
)


@dataclass(frozen=True)
class Head:
    """A file's name, size and both ends; `file` is the name to show, `path` the one to open.

    Of a compressed file (`packing` says how), `start` is what it unpacks to, and `end` is unknown.
    """

    path: Path
    file: str
    start: bytes
    size: int
    end: bytes = b""
    changed: float | None = None
    packing: str | None = None
    named: bool = False  # whether somebody asked for this very file

    @property
    def name(self) -> str:
        """The file's name without what compression added to it."""
        return self.path.stem if self.packing else self.path.name

    def whole(self, most: int = LARGEST_DOCUMENT) -> bytes:
        """All of the file, unpacked; raises UnreadableFile where that is more than so many bytes."""
        with unpacked(self.path, self.packing) as stream:
            data = read_fully(stream, most + 1)
        if len(data) > most:
            raise UnreadableFile(f"{self.file}: more than {most >> 20} MB in one document, too large to read")
        return data

    def whole_text(self) -> str:
        """All of the file as text."""
        return self.whole().decode(self.encoding, errors="replace")

    @contextmanager
    def opened_text(self, newline: str) -> Iterator[TextIO]:
        """The file as text, unpacked."""
        with unpacked(self.path, self.packing) as stream:
            buffered = io.BufferedReader(cast("io.RawIOBase", stream), 1 << 18)
            yield io.TextIOWrapper(buffered, encoding=self.encoding, errors="replace", newline=newline)

    @cached_property
    def encoding(self) -> str:
        """How to decode the text; what cannot be decoded is replaced, so that any file can be tried."""
        if self.start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        return "utf-8-sig"

    @cached_property
    def text(self) -> str:
        """The first bytes as text."""
        return self.start.decode(self.encoding, errors="replace")

    @cached_property
    def ends(self) -> str:
        """The first and the last bytes as text: a log may begin with the source of its trainer."""
        # The last bytes of a UTF-16 file have no mark of their own.
        tail = self.end.decode("utf-8" if self.encoding == "utf-8-sig" else "utf-16-le", errors="replace")
        return self.text + "\n" + tail if tail else self.text

    @cached_property
    def shapes(self) -> tuple[tuple[str, int], ...]:
        """The lines of both ends, one of each shape, and how many there are of it.

        Lines that differ only in their runs of digits have one shape, as far as a grammar is concerned.
        """
        found: dict[str, list[str]] = {}
        for line in plain(self.ends).replace("\r", "\n").split("\n"):
            found.setdefault(_RUN.sub("0", line[:LONGEST_SHOWN]), []).append(line)
        return tuple((lines[0][:LONGEST_SHOWN], len(lines)) for lines in found.values())

    @cached_property
    def binary(self) -> bool:
        """Whether this is no text at all."""
        if self.encoding == "utf-16":
            return False
        # A log that was emptied under a running process begins with a hole of zero bytes.
        sample = (self.start + self.end).replace(b"\0", b"")
        if not sample:
            return bool(self.start)
        unprintable = len(sample.translate(None, _PRINTABLE))
        return unprintable > len(sample) // 20 or (b"\0" in self.end and b"\0" in self.start)

    @cached_property
    def prose(self) -> bool:
        """Whether the name says that this is a document, settings or source."""
        name = self.name.lower()
        return Path(name).suffix in _NOT_LOG_SUFFIXES or name.startswith(_NOT_LOG_NAMES)


_RUN = re.compile(r"[0-9]+")
# Everything but control characters; bytes from 0x80 up belong to UTF-8 or Latin-1 text.
_PRINTABLE = bytes(sorted({*range(32, 127), *range(128, 256), 7, 8, 9, 10, 12, 13, 27}))


def head_of(path: Path, file: str) -> Head:
    """Look at both ends of a file."""
    status = path.stat()
    with path.open("rb") as stream:
        start = stream.read(HEAD_BYTES)
        packing = packing_of(start)
        end = b""
        if packing is None and status.st_size > HEAD_BYTES:
            stream.seek(max(HEAD_BYTES, status.st_size - HEAD_BYTES))
            end = stream.read(HEAD_BYTES)
    if packing is not None:
        with unpacked(path, packing) as content:
            start = read_fully(content, HEAD_BYTES)
    return Head(path, file, start, status.st_size, end, status.st_mtime, packing)


def read_fully(stream: BinaryIO, most: int) -> bytes:
    """The next bytes of a stream, as many as asked for unless it ends; one read may give fewer."""
    parts = []
    while most > 0 and (part := stream.read(most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
