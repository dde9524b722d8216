"""Opens files that may be compressed, and stops where they unpack to more than a log can hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from stethoscope.errors import UnreadableFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The densest real logs shrink to a hundredth; what grows a thousandfold was made to fill a disk.
MOST_GROWTH = 400
SMALL_ENOUGH = 64 << 20  # bytes that any archive may unpack to
MOST_UNPACKED = 16 << 30

_OPENERS: dict[bytes, tuple[str, Callable[[Path], object]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}


def packing_of(start: bytes) -> str | None:
    """How a file that begins like this is compressed; None for not at all, or in a way not known here."""
    return next((name for magic, (name, _) in _OPENERS.items() if start.startswith(magic)), None)


@contextmanager
def unpacked(path: Path, packing: str | None) -> Iterator[BinaryIO]:
    """The file's content as a stream; damage and bombs raise UnreadableFile."""
    if packing is None:
        with path.open("rb", buffering=0) as plain:
            yield cast("BinaryIO", plain)
        return
    opener = next(opener for name, opener in _OPENERS.values() if name == packing)
    most = min(max(SMALL_ENOUGH, path.stat().st_size * MOST_GROWTH), MOST_UNPACKED)
    with cast("io.BufferedIOBase", opener(path)) as stream:
        yield cast("BinaryIO", _Bounded(stream, most, path.name))


class _Bounded(io.RawIOBase):
    """A stream that gives at most so many bytes, and what is whole of a damaged archive."""

    def __init__(self, stream: io.BufferedIOBase, most: int, name: str) -> None:
        self._stream, self._left, self._name = stream, most, name

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the buffer as far as one read does."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """The next bytes; nothing at the end, or from where the archive is damaged."""
        try:
            data = self._stream.read1(self._left + 1 if size < 0 else size)
        except (EOFError, OSError, zlib.error, lzma.LZMAError):
            return b""
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableFile(f"{self._name}: unpacks to more than {MOST_GROWTH} times its size")
        return data
