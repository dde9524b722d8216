"""Numbers as half of Europe prints them: `loss = 2,1030; val_loss = 2,1786`.

A comma between digits may as well part thousands (12,345 tokens) or the elements of a list (gpus=0,1). It is
a decimal comma where named values have it over and over, points are rare, and some value has other than
three digits behind it or a zero before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.logs._text.finish import Finished
from stethoscope.run import Log

FEWEST = 4  # named values with a comma
FOR_ONE_POINT = 3  # values with a comma, at least, for each with a point

_NAMED = re.compile(r"[:=]\s*[-+]?(?P<whole>\d{1,9}),(?P<fraction>\d{1,18})(?![\d,.])")
_POINTED = re.compile(r"(?<![\d.])\d+\.\d+(?![\d.])")
_COMMA = re.compile(r"(?<![\d,.])(\d{1,9}),(\d{1,18})(?![\d,.])")
_COMMA_BYTES = re.compile(_COMMA.pattern.encode())


def has_decimal_commas(text: str) -> bool:
    """Whether a text prints its numbers with commas for points."""
    named = [(found["whole"], found["fraction"]) for found in _NAMED.finditer(text)]
    if len(named) < FEWEST or all(len(fraction) == 3 and whole != "0" for whole, fraction in named):
        return False
    return len(named) >= FOR_ONE_POINT * sum(1 for _ in _POINTED.finditer(text))


def with_points(text: str) -> str:
    """The text with points for its decimal commas, as long as before."""
    return _COMMA.sub(r"\1.\2", text)


@dataclass(slots=True)
class WithPoints:
    """A text log being read, whose decimal commas are read as points."""

    text: Finished

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        return self.text.take(_COMMA_BYTES.sub(rb"\1.\2", data), last)

    def log(self) -> Log:
        """What was read so far."""
        return self.text.log()
