"""A discreet line on stderr while something takes long, gone when it is done."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONG_SECONDS = 1.0
BETWEEN_SECONDS = 0.25  # a percentage that stands still looks like a hang
USUAL_COLUMNS = 80
ERASE_LINE = "\r\x1b[K"


@contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is being done once it takes more than a second, where somebody is watching.

    While a log is being read, its name and how far the reading has come stand in for `doing`.
    """
    if not sys.stderr.isatty():
        yield
        return
    from stethoscope.logs._reading.progress import watched_by

    work = _Work(doing)
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(work, done), daemon=True)
    teller.start()
    try:
        with watched_by(work.reading):
            yield
    finally:
        done.set()
        teller.join()


class _Work:
    """What is going on; told by the thread that works, read by the one that speaks."""

    def __init__(self, doing: str) -> None:
        self.doing, self.file, self.read, self.size, self.files = doing, "", 0, 0, 0

    def reading(self, file: str, read: int, size: int) -> None:
        self.files += file != self.file
        self.file, self.read, self.size = file, read, size

    def words(self) -> str:
        if not self.file or self.read == self.size:
            return self.doing
        from stethoscope.report.clean_text import one_line

        # A compressed file unpacks to more than its size, so its megabytes are counted.
        far = f"{self.read / self.size:.0%}" if self.read < self.size else f"{self.read >> 20:,} MB"
        several = f", file {self.files:,}" if self.files > 1 else ""
        return f"reading {one_line(os.path.basename(self.file), 60)} {far}{several}"


def _tell(work: _Work, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(LONG_SECONDS):
        return
    while True:
        said = f"{work.words()} ({time.monotonic() - began:.0f} s)"
        sys.stderr.write(f"{ERASE_LINE}{said[: _columns() - 1]}")
        sys.stderr.flush()
        if done.wait(BETWEEN_SECONDS):
            break
    sys.stderr.write(ERASE_LINE)
    sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS
