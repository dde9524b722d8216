"""The console a report is written for: how wide, in which colours, with which letters."""

from __future__ import annotations

import io
import os
import sys
from typing import Literal

from rich.console import Console

NARROWEST = 40
WIDEST = 100  # longer lines are hard to read, however wide the window


def console(widest: int | None = WIDEST) -> Console:
    """The console behind standard output: plain when piped or where NO_COLOR is set."""
    system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    # Text from strangers' files is never read as markup.
    target = Console(file=sys.stdout, color_system=system, markup=False, highlight=False, emoji=False)
    target.width = min(max(target.width, NARROWEST), widest or target.width)
    return target


def plain_console(width: int) -> Console:
    """A console without colours, of a fixed width, wherever it runs."""
    return Console(
        file=io.StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        markup=False,
        highlight=False,
        emoji=False,
    )


def ascii_only(target: Console) -> bool:
    """Whether only ASCII can be written there."""
    return not target.encoding.lower().startswith("utf")
