"""read: files -> series. One file per log format, found by folder, recognised by content.

A format module holds FORMAT (its name), `recognise(head) -> float` (0 to 1, how sure it is that this
file is its own) and either `begin(head) -> Reading`, which takes the file's bytes as they come (so that
a growing file is followed cheaply), or `read(head) -> Log` for a file that only makes sense as a whole.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.logs import _progress
from stethoscope.logs._head import Head, head_of
from stethoscope.logs._other_formats import other_format
from stethoscope.logs._stream import read_with
from stethoscope.logs.splice import Spliced, splice
from stethoscope.run import Log
from stethoscope.run.names import held_out, validated

__all__ = ["Head", "Spliced", "formats", "head_of", "read_log", "read_with", "recognised", "splice"]

SURE_ENOUGH = 0.3  # below this a file is not called a log at all


def read_log(path: Path, file: str | None = None) -> Log:
    """Read one log with the reader that is surest of it; `file` is the name to show for it."""
    shown = file or str(path)
    try:
        head = head_of(path, shown)
        _progress.tell(shown, 0, head.size)
        reader = surest(head)
        if reader is None:
            raise UnreadableFile(f"{shown}: {other_format(head)}")
        log = told_by_name(read_with(reader, head), path)
    except OSError as problem:
        raise UnreadableFile(f"{shown}: {problem.strerror or problem}") from problem
    return log


def told_by_name(log: Log, path: Path) -> Log:
    """The log with its names marked as validation where its own name says so: val.csv, eval/metrics.jsonl."""
    if not (held_out(path.stem) or held_out(path.parent.name)):
        return log
    taken = {series.name for series in log.series}
    series = tuple(
        replace(series, name=name) if (name := validated(series.name)) not in taken else series
        for series in log.series
    )
    return replace(log, series=series)


def recognised(head: Head) -> bool:
    """Whether any reader takes this file for a log."""
    return surest(head) is not None


def surest(head: Head) -> ModuleType | None:
    """The format module that is surest of this file; None where none is sure enough."""
    sureness = {reader: reader.recognise(head) for reader in formats()}
    best = max(sureness, key=lambda reader: sureness[reader], default=None)
    return best if best is not None and sureness[best] >= SURE_ENOUGH else None


@cache
def formats() -> tuple[ModuleType, ...]:
    """Every log format there is."""
    return tuple(module for module in modules_in(__name__) if hasattr(module, "FORMAT"))
