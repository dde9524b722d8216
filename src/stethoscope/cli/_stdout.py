"""Standard output that may close, fill up, or not know every letter."""

from __future__ import annotations

import os
import sys


def put(text: str) -> None:
    """Write to standard output; a reader who has left is no problem."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_the_rest()


def put_as(text: str, format_: str) -> None:
    """Write a report: text as the terminal takes it, what programs read as UTF-8."""
    prepare(None if format_ == "text" else "utf-8")
    put(text)


def prepare(encoding: str | None = None) -> None:
    """Write letters that standard output cannot encode as escapes, or encode them differently."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding=encoding, errors="backslashreplace")


def discard_the_rest() -> None:
    """Keep the interpreter from trying again, and failing loudly, as it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
