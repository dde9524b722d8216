"""One line of a terminal report: it wraps under itself, and keeps the letters of strangers harmless."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Line:
    """A text, how far it is indented, and how much further its continuation is.

    A `bullet` stands before the text, which continues beside it. `verbatim` lines, such as a diff's,
    are never wrapped: what is copied must be whole.
    """

    text: Text
    indent: int = 0
    hang: int = 0
    bullet: str = ""
    verbatim: bool = False


BLANK = Line(Text(""))


def printed(lines: Iterable[Line], console: Console) -> str:
    """The lines as the console would show them."""
    with console.capture() as captured:
        for line in lines:
            for row in _rows(line, console):
                console.print(row, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    return captured.get()


def _rows(line: Line, console: Console) -> Iterable[Text]:
    margin = Text(" " * line.indent + line.bullet)
    if line.verbatim:
        return [_without_end(margin + line.text)]
    further = max(line.hang, len(line.bullet))
    rows = line.text.wrap(console, console.width - line.indent - further, overflow="fold")
    continued = Text(" " * (line.indent + further))
    # The first row has the room of the hang too, but wrapping once for all keeps the rows even.
    return [_without_end((continued if number else margin) + row) for number, row in enumerate(rows)]


def _without_end(row: Text) -> Text:
    row.rstrip()
    return row
