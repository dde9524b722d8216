"""A text file as blocks of whole lines: UTF-8, line feeds, no byte-order mark, however it was written."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_LINE = 1 << 24  # bytes; a longer "line" is cut here, so that memory stays bounded
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Blocks:
    """Cuts bytes as they come into blocks that end where a line ends."""

    encoding: str
    line: int = 1  # the number of the next block's first line
    big_endian: bool = False
    begun: bool = False

    def cut(self, data: bytes, last: bool) -> tuple[int, bytes]:
        """How many bytes are used up, and the whole lines among them."""
        wide = self.encoding == "utf-16"
        if not self.begun:
            self.big_endian = data.startswith(b"\xfe\xff")
        taken = self._end(data, last, wide)
        block = data[:taken]
        if wide:
            block = block.decode("utf-16-be" if self.big_endian else "utf-16-le", errors="replace").encode()
        if not self.begun and taken:
            self.begun = True
            block = block.removeprefix(_BOM)
        return taken, _plain(block)

    def _end(self, data: bytes, last: bool, wide: bool) -> int:
        if last:
            return len(data)
        if wide:
            feed = b"\0\n" if self.big_endian else b"\n\0"
            end = data.rfind(feed)
            while end >= 0 and end % 2:
                end = data.rfind(feed, 0, end + 1)
            end += 2 if end >= 0 else 1
        else:
            end = data.rfind(b"\n") + 1
            if end == 0 and b"\r" in data[:-1]:  # written by an old Macintosh, or in one line that overprints
                end = data.rfind(b"\r", 0, len(data) - 1) + 1
        return end if end or len(data) < LONGEST_LINE else len(data) // 2 * 2


def _plain(block: bytes) -> bytes:
    """The block without the zero bytes of an emptied file, its lines ended by line feeds alone."""
    if b"\0" in block:
        block = block.replace(b"\0", b"")
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block
