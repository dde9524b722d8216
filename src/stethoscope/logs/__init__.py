"""read: files -> series. One file per log format, found by folder, recognised by content.

A format module holds FORMAT (its name), `recognise(head) -> float` (0 to 1, how sure it is that this
file is its own) and `read(head) -> Log`. It may hold CONTINUES = True where one run is often spread
over several such files (a resumed run starts another).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.logs._head import Head, head_of
from stethoscope.run import Log

__all__ = ["Head", "formats", "read_log"]

SURE_ENOUGH = 0.3  # below this a file is not called a log at all


def read_log(path: Path, file: str | None = None) -> Log:
    """Read one log with the reader that is surest of it; `file` is the name to show for it."""
    head = head_of(path, file or str(path))
    ranked = sorted(formats(), key=lambda reader: reader.recognise(head), reverse=True)
    if not ranked or ranked[0].recognise(head) < SURE_ENOUGH:
        raise UnreadableFile(f"{head.file}: not a log format known here")
    log: Log = ranked[0].read(head)
    return log


def recognised(head: Head) -> bool:
    """Whether any reader takes this file for a log."""
    return any(reader.recognise(head) >= SURE_ENOUGH for reader in formats())


@cache
def formats() -> tuple[ModuleType, ...]:
    """Every log format there is."""
    return tuple(module for module in modules_in(__name__) if hasattr(module, "FORMAT"))
