"""The files that a settings file builds on: opened once each, within bounds, and remembered."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.errors import UnreadableFile

MAX_BYTES = 1 << 20  # longer than any settings file people write
MOST_FILES = 200  # that one settings file builds on


@dataclass(frozen=True, slots=True)
class Opened:
    """A settings file: where it lies, the name to show, and its text."""

    path: Path
    file: str
    text: str


@dataclass(slots=True)
class Files:
    """What has been opened so far, in the order it was asked for."""

    opened: dict[Path, Opened] = field(default_factory=dict)

    def read(self, path: Path, file: str) -> Opened:
        """A file's text; raises UnreadableFile with the reason."""
        path = Path(os.path.normpath(path))
        if path in self.opened:
            return self.opened[path]
        if len(self.opened) >= MOST_FILES:
            raise UnreadableFile(f"{file}: more than {MOST_FILES} files build on each other")
        self.opened[path] = Opened(path, file, text_of(path, file))
        return self.opened[path]

    def beside(self, near: Opened, name: str) -> Opened:
        """A file named relative to another."""
        path = near.path.parent / name
        return self.read(path, os.path.normpath(os.path.join(os.path.dirname(near.file), name)))


def text_of(path: Path, file: str) -> str:
    """The text of a settings file, with plain line ends; raises UnreadableFile for what is none."""
    try:
        if not path.is_file():
            raise UnreadableFile(f"{file}: no such file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UnreadableFile(f"{file}: {size:,} bytes are too many for a settings file")
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableFile(f"{file}: {(problem.strerror or str(problem)).lower()}") from None
    except ValueError:  # a name that no file can have
        raise UnreadableFile(f"{file!r} is no file name") from None
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableFile(f"{file}: binary, not a text")
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
