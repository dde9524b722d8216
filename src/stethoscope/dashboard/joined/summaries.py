"""What the list says about a run, as `stethoscope triage` finds it out, and the index that remembers it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

from stethoscope.triage.cache_folder import cache_folder
from stethoscope.triage.examining import Outcome, Patient, examined, failed, summary_of
from stethoscope.triage.index import Index
from stethoscope.triage.summary import UNREADABLE, Summary, SummaryCause

__all__ = [
    "UNREADABLE",
    "IndexWriter",
    "Outcome",
    "Patient",
    "Summary",
    "SummaryCause",
    "examined",
    "failed",
    "nowhere",
    "summary_of",
]

Entry = tuple[str, str, Summary]  # absolute path, state, summary
Keep = Callable[[Entry], None]
TOGETHER = 64
EVERY_SECONDS = 1.0


def nowhere(entry: Entry) -> None:
    """Remember nothing."""


class IndexWriter:
    """Puts summaries into the index, some at a time, by a thread of its own."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder()
        self._entries: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def keep(self, entry: Entry) -> None:
        """Remember a summary."""
        self._entries.put(entry)

    def close(self) -> None:
        """Write what is left."""
        self._entries.put(None)
        self._thread.join(timeout=2.0)

    def _write(self) -> None:
        with Index(self._folder) as index:
            while True:
                entries, is_last = self._next()
                if entries:
                    index.put(entries)
                if is_last:
                    return

    def _next(self) -> tuple[list[Entry], bool]:
        """What has come together; whether that is all there will be."""
        first = self._entries.get()
        entries: list[Entry] = []
        while first is not None:
            entries.append(first)
            if len(entries) >= TOGETHER:
                return entries, False
            try:
                first = self._entries.get(timeout=EVERY_SECONDS)
            except queue.Empty:
                return entries, False
        return entries, True
