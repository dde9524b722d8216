"""read: files -> series. One file per log format, found by folder, recognised by content.

A format module holds FORMAT (its name), `recognise(head) -> float` (0 to 1, how sure it is that this
file is its own) and either `begin(head) -> Reading`, which takes the file's bytes as they come (so that
a growing file is followed cheaply), or `read(head) -> Log` for a file that only makes sense as a whole.
A format that is a guess holds MOST, too, the surest it ever is: it is asked after all others.
"""

from __future__ import annotations

import glob
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading import progress as _progress
from stethoscope.logs._reading.head import Head, head_of
from stethoscope.logs._reading.mixed_ranks import of_one_rank
from stethoscope.logs._reading.other_formats import other_format
from stethoscope.logs._reading.ranks import without_ranks
from stethoscope.logs._reading.stream import read_with
from stethoscope.logs.splice import Spliced, splice
from stethoscope.run import Log
from stethoscope.run.names import held_out, held_out_twin, speaks_of_held_out, validated

__all__ = [
    "Head",
    "Spliced",
    "formats",
    "head_of",
    "read_as",
    "read_log",
    "read_with",
    "recognised",
    "splice",
    "surest",
]

SURE_ENOUGH = 0.3  # below this a file is not called a log at all


def read_log(path: Path, file: str | None = None) -> Log:
    """Read one log with the reader that is surest of it; `file` is the name to show for it."""
    shown = file or str(path)
    try:
        head = head_of(path, shown)
        return read_as(surest(head), head)
    except OSError as problem:
        raise UnreadableFile(f"{shown}: {problem.strerror or problem}") from problem


def read_as(reader: ModuleType | None, head: Head) -> Log:
    """Read one log with this reader; raises UnreadableFile where no reader takes it, and says what it is."""
    if reader is None:
        raise UnreadableFile(f"{head.file}: {other_format(head)}")
    _progress.tell(head.file, 0, head.size)
    return told_by_name(of_one_rank(read_with(reader, head)), head.path)


def told_by_name(log: Log, path: Path) -> Log:
    """The log with its names marked as validation where its own name says so: val.csv, eval/metrics.jsonl."""
    if not (held_out(path.stem) or held_out(path.parent.name) or _has_training_twin(path)):
        return log
    taken = {series.name for series in log.series}
    series = tuple(
        replace(series, name=name) if (name := validated(series.name)) not in taken else series
        for series in log.series
    )
    return replace(log, series=series)


def _has_training_twin(path: Path) -> bool:
    """Whether a log lies beside that of the training it was measured in: val_run3.csv, train_run3.csv."""
    if not speaks_of_held_out(path.stem):
        return False
    try:
        beside = [other.stem for other in path.parent.glob(f"*{glob.escape(path.suffix)}")]
    except OSError:
        return False
    return any(held_out_twin(path.stem, other) for other in beside)


def recognised(head: Head) -> bool:
    """Whether any reader takes this file for a log."""
    return surest(head) is not None


def surest(head: Head) -> ModuleType | None:
    """The format module that is surest of this file; None where none is sure enough.

    A module that is as sure as its DECISIVE leaves nothing to ask: a table looks like nothing else. One that
    is never surer than its MOST is asked only where no other is: it may look long.
    """
    head = without_ranks(head)
    for reader in formats():
        if hasattr(reader, "DECISIVE") and reader.recognise(head) >= reader.DECISIVE:
            return reader
    best, sureness = None, 0.0
    for reader in sorted(formats(), key=lambda reader: -_most(reader)):
        if sureness < _most(reader) and (sure := reader.recognise(head)) > sureness:
            best, sureness = reader, sure
    return best if sureness >= SURE_ENOUGH else None


def _most(reader: ModuleType) -> float:
    return float(getattr(reader, "MOST", 1.0))


@cache
def formats() -> tuple[ModuleType, ...]:
    """Every log format there is."""
    return tuple(module for module in modules_in(__name__) if hasattr(module, "FORMAT"))
