"""Splices in the bytes of a file: encoding, byte-order mark and every other line end stay as they are.

Readers give text with plain line ends, and spans count in that text. Here they are carried back to the text
as it was stored.
"""

from __future__ import annotations

import codecs
import re
import tokenize
from bisect import bisect_right
from collections.abc import Sequence
from io import BytesIO

from stethoscope.errors import UnreadableFile
from stethoscope.run import Splice

_CRLF = re.compile("\r\n")


def rewritten(content: bytes, read_as: str, splices: Sequence[Splice], file: str) -> bytes:
    """The content with the splices applied; `read_as` is the text that the spans count in.

    Raises UnreadableFile where the content is not what was read, or cannot hold the result.
    """
    text, encoding = decoded(content, file)
    if _plain(text) != read_as and text.replace("\r\n", "\n") != read_as:
        raise UnreadableFile(f"{file}: changed since it was read")
    ends = _ends_before(text)
    pieces = []
    at = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        start, end = _stored(splice.start, ends), _stored(splice.end, ends)
        if start < at:
            raise UnreadableFile(f"{file}: two changes overlap")
        pieces += [text[at:start], splice.text.replace("\n", _line_end(text, start))]
        at = end
    try:
        return "".join((*pieces, text[at:])).encode(encoding)
    except UnicodeEncodeError as problem:
        raise UnreadableFile(f"{file}: {encoding} cannot hold the change: {problem.reason}") from None


def decoded(content: bytes, file: str) -> tuple[str, str]:
    """A file's text with its own line ends, and the encoding that gives exactly these bytes again."""
    try:
        if file.endswith(".py"):
            encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        else:
            encoding = "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"
        return content.decode(encoding), encoding
    except (SyntaxError, ValueError, LookupError):
        raise UnreadableFile(f"{file}: not a text whose encoding is known, so it is left alone") from None


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _ends_before(text: str) -> list[int]:
    """For each line end of two characters, where it stands in the text of plain ends."""
    return [found.start() - number for number, found in enumerate(_CRLF.finditer(text))]


def _stored(offset: int, ends: Sequence[int]) -> int:
    """An offset in the text as stored: one more for every two-character line end before it."""
    return offset + bisect_right(ends, offset - 1)


def _line_end(text: str, at: int) -> str:
    """The line end used where a splice begins: that of its own line, else of the line above."""
    after = re.search("\r\n|\r|\n", text[at:])
    if after is not None:
        return after[0]
    before = re.findall("\r\n|\r|\n", text[:at])
    return before[-1] if before else "\n"
