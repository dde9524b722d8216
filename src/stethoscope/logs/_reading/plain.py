"""Text without what terminals add to it."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_ANSI_BYTES = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


def plain(text: str) -> str:
    """Text without colours and without the zero bytes of a file that was emptied while open."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.replace("\0", "") if "\0" in text else text


def plain_bytes(data: bytes) -> bytes:
    """The same for bytes."""
    if b"\x1b" in data:
        data = _ANSI_BYTES.sub(b"", data)
    return data.replace(b"\0", b"") if b"\0" in data else data
