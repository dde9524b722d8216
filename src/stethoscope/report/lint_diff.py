"""A diff on a terminal: coloured, and harmless whatever the files hold."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stethoscope.report.clean_text import visible
from stethoscope.report.line import Line, printed
from stethoscope.report.palette import OF_DIFF


def render(diff: str, console: Console) -> str:
    """The diff as this console would show it."""
    lines = diff.removesuffix("\n").split("\n") if diff else []
    return printed(
        (
            Line(Text(visible(line.expandtabs(4)), style=OF_DIFF.get(line[:1], "")), verbatim=True)
            for line in lines
        ),
        console,
    )
