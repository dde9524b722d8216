"""Rings the bell of the terminal, where there is one."""

from __future__ import annotations

import sys
from contextlib import suppress

BELL = "\a"


def ring() -> None:
    """Ring once; a program that reads standard output never gets to see it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream.isatty():
                stream.write(BELL)
                stream.flush()
                return
