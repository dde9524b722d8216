"""A settings text and the addresses in it, and what is too much for one."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from stethoscope.errors import UnreadableFile
from stethoscope.run import Where

MAX_SETTINGS = 20_000  # a settings file has hundreds; more is data
MAX_DEPTH = 60  # deeper than any real settings


@dataclass(frozen=True)
class Text:
    """The characters of a settings file, or of the part of one that begins on `first_line`."""

    text: str
    file: str
    first_line: int = 1

    @cached_property
    def newlines(self) -> list[int]:
        """The offset of every line's end."""
        return [found.start() for found in re.finditer("\n", self.text)]

    def line(self, at: int) -> int:
        """The line an offset is on."""
        return bisect_right(self.newlines, at - 1) + self.first_line

    def where(self, at: int) -> Where:
        """The address of an offset."""
        return Where(self.file, line=self.line(at))

    def too_many(self) -> UnreadableFile:
        """The error to raise for more values than any settings file holds."""
        return UnreadableFile(
            f"{self.file}: holds more than {MAX_SETTINGS:,} values, which is no settings file"
        )

    def too_deep(self) -> UnreadableFile:
        """The error to raise for values nested deeper than any settings are."""
        return UnreadableFile(f"{self.file}: nested deeper than {MAX_DEPTH} levels")

    def wrong(self, syntax: str, at: int, what: str) -> UnreadableFile:
        """The error to raise for what stands at an offset."""
        return UnreadableFile(f"{self.file}: not valid {syntax}: line {self.line(at)}: {what}")
