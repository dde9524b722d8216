"""The beginning of a file, by which formats are recognised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HEAD_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Head:
    """A file's name, size and first bytes; `file` is the name to show, `path` the one to open."""

    path: Path
    file: str
    start: bytes
    size: int

    @property
    def text(self) -> str:
        """The first bytes as text."""
        return self.start.decode("utf-8", errors="replace")

    @property
    def binary(self) -> bool:
        """Whether this is no text at all."""
        return b"\0" in self.start


def head_of(path: Path, file: str) -> Head:
    """Look at the beginning of a file."""
    with path.open("rb") as stream:
        start = stream.read(HEAD_BYTES)
    return Head(path, file, start, path.stat().st_size)
