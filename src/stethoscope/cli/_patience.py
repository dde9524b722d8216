"""A discreet line on stderr while something takes long, gone when it is done."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONG_SECONDS = 1.0
ERASE_LINE = "\r\x1b[K"


@contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is being done once it takes more than a second, where somebody is watching."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(doing, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(doing: str, done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(LONG_SECONDS):
        sys.stderr.write(f"{ERASE_LINE}{doing} ({time.monotonic() - began:.0f} s)")
        sys.stderr.flush()
    if time.monotonic() - began > LONG_SECONDS:
        sys.stderr.write(ERASE_LINE)
        sys.stderr.flush()
