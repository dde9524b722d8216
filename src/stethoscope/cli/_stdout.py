"""Standard output that may close, fill up, or not know every letter."""

from __future__ import annotations

import os
import sys

from stethoscope.errors import StethoscopeError


def put(text: str) -> None:
    """Write to standard output; a reader who has left is no problem, a full disk is one."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as problem:
        _discard_the_rest()
        raise StethoscopeError(f"could not write the report: {problem.strerror or problem}.") from None


def prepare(encoding: str | None = None) -> None:
    """Write letters that standard output cannot encode as escapes, or encode them differently."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding=encoding, errors="backslashreplace")


def _discard_the_rest() -> None:
    """Keep the interpreter from trying again, and failing loudly, as it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
