"""The lines of a text file, one at a time, so that a file of any size can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.logs._head import Head

LONGEST_LINE = 1 << 24  # characters; a longer "line" is cut here, so that memory stays bounded

LONGEST_RECORD = 8_000  # characters of a text log's line that are read; the longest known are of 1,000

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


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


def plain(line: str) -> str:
    """A line without colours and without the zero bytes of a file that was emptied while open."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    return line.replace("\0", "") if "\0" in line else line
