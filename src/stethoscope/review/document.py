"""A document as its author pasted it: decoded, with its damage repaired where that is certain."""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

from stethoscope.errors import NothingToRead, UnreadableFile

MOST_BYTES = 32 << 20  # a book has two megabytes; more is a log or a dump
_SNIFFED = 4096
# Characters that people mark proposals with, and quotes and dashes that stand beside them.
_TELLING = "→←⇒⟶➜➡↓↑✅❌✓✔✗✘×≤≥≈–—‘’“”…•·β±σµ🚨🔍🛠🎯⚡🛑📋📈📊💡🔧🔴🟡🚀📉📏⏰🎉✨⚠ℹ°ü ä ö ß"
_READ_AS = ("cp1252", "cp1254", "mac_roman", "latin-1")


def text_of(path: Path) -> str:
    """The text of a document with plain line ends; raises UnreadableFile for what is none."""
    name = str(path)
    try:
        if not path.exists():
            raise NothingToRead(f"{name} does not exist.")
        if path.is_dir():
            raise UnreadableFile(f"{name} is a folder; name the document to review.")
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableFile(f"{name} is no regular file.")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UnreadableFile(f"{name}: {size:,} bytes are too many for a written diagnosis.")
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableFile(f"{name}: {(problem.strerror or str(problem)).lower()}.") from None
    except ValueError:
        raise UnreadableFile(f"{name!r} is no file name.") from None
    return decoded(content, name)


def decoded(content: bytes, name: str) -> str:
    """Bytes as text: UTF-8, UTF-16 by its mark, else Western European; mojibake is undone."""
    if not content.strip():
        raise UnreadableFile(f"{name} is empty: there is nothing to review.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content[:_SNIFFED]:
        raise UnreadableFile(f"{name}: binary, not a text.")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    return repaired(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " "))


def repaired(text: str) -> str:
    """The text with the telling characters restored that were read as another encoding."""
    if text.isascii():
        return text
    for damaged, meant in _damage():
        if damaged in text:
            text = text.replace(damaged, meant)
    return text


@cache
def _damage() -> tuple[tuple[str, str], ...]:
    """What each telling character looks like after it was decoded wrongly, the longest first."""
    found: dict[str, str] = {}
    for character in _TELLING.replace(" ", ""):
        encoded = character.encode("utf-8")
        for codec in _READ_AS:
            for errors in ("replace", "ignore"):
                seen = encoded.decode(codec, errors=errors)
                # Two characters or fewer may be what somebody wrote.
                if len(seen) > 1 and seen != character and not seen.isascii():
                    found.setdefault(seen, character)
    return tuple(sorted(found.items(), key=lambda pair: -len(pair[0])))
