"""The lines of a text file, in chunks or one at a time, so that a file of any size can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.plain import plain, plain_bytes
from stethoscope.logs._text.chunk import Lines, lines_of
from stethoscope.logs._text.columns import PADDING

LONGEST_LINE = 1 << 24  # characters; a longer "line" is cut here, so that memory stays bounded

_BOM = b"\xef\xbb\xbf"
# A bar does not end its line, so what is printed next stands right behind it.
_BEHIND_A_BAR = re.compile(rb"\](?=Gradient overflow\.|\[20\d\d-\d\d-\d\d |Traceback \(most)")
_UNCLEAN = (b"\r", b"\x1b", b"\0")


def numbered_lines(head: Head) -> Iterator[tuple[int, str]]:
    """Each line with its number, without colours. What carriage returns overprint counts as lines of its own,
    under the number of the line that holds it.
    """
    with head.opened_text(newline="\n") as stream:
        number = 1
        while line := stream.readline(LONGEST_LINE):
            ended = line[-1] == "\n"
            line = plain(line)
            if "\r" in line:
                for part in line.replace("\r\n", "\n").split("\r"):
                    yield number, part.rstrip("\n")
            else:
                yield number, line.rstrip("\n")
            number += ended


@dataclass(slots=True)
class LinesOfStream:
    """Cuts the bytes of a text file, as they come, into whole lines as UTF-8 without colours."""

    encoding: str
    number: int = 1  # of the next line
    begun: bool = False
    barred: bool = False  # whether lines were overprinted so far

    def cut(self, data: bytes, last: bool) -> tuple[int, Lines | None]:
        """How many bytes were used, and the lines among them."""
        end = self._end(data, last)
        if end == 0:
            return 0, None
        if self._is_plain(data):
            broken = data[end - 1] == 10
            lines = lines_of(memoryview(data)[: end - broken], self.number)
        else:
            text = self._cleaned(data[:end])
            broken = text.endswith(b"\n")
            lines = self._lines(text[:-1] if broken or text.endswith(b"\r") else text)
        self.number = int(lines.numbers[-1]) + broken
        return end, lines

    def _is_plain(self, data: bytes) -> bool:
        """Whether there is nothing to clean."""
        return (
            self.begun
            and not self.barred
            and self.encoding != "utf-16"
            and not any(byte in data for byte in _UNCLEAN)
        )

    def _end(self, data: bytes, last: bool) -> int:
        """Where the last line break is; what carriage returns separate counts as lines."""
        if self.encoding == "utf-16":
            return self._end_wide(data, last)
        if last:
            return len(data)
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        return end if end or len(data) < LONGEST_LINE else len(data)

    def _end_wide(self, data: bytes, last: bool) -> int:
        even = len(data) // 2 * 2
        if last:
            return len(data)
        end = (data.rfind(b"\n\0", 0, even) + 2) // 2 * 2
        return end if end > 1 or len(data) < LONGEST_LINE else even

    def _cleaned(self, data: bytes) -> bytes:
        if self.encoding == "utf-16":
            wide = "utf-16-be" if data.startswith(b"\xfe\xff") else "utf-16-le"
            data = data.decode(wide, errors="replace").encode("utf-8")
        if not self.begun:
            self.begun = True
            data = data.removeprefix(_BOM)
        data = plain_bytes(data)
        return self._apart(data.replace(b"\r\n", b"\n") if b"\r" in data else data)

    def _apart(self, text: bytes) -> bytes:
        """The text with what stands behind a bar on a line of its own."""
        first = 0 if self.barred else text.find(b"\r")
        if first < 0:
            return text
        self.barred = True
        return text[:first] + _BEHIND_A_BAR.sub(b"]\r", text[first:])

    def _lines(self, text: bytes) -> Lines:
        if b"\r" not in text:
            return lines_of(text, self.number)
        # What is overprinted stands on lines of its own here, under the number of the line in the file.
        lines = lines_of(text.replace(b"\r", b"\n"), self.number)
        broken = np.frombuffer(text, dtype=np.uint8)[lines.ends[:-1] - PADDING] == 10
        return replace(lines, numbers=self.number + np.concatenate([[0], np.cumsum(broken)]))
