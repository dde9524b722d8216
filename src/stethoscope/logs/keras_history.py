"""A JSON document of columns: Keras' `History.history`, and what others save of a run in the same shape.

{"loss": [1.06, 0.98, 0.91], "val_loss": [0.83, 0.79, 0.74]}      Keras: one value for each epoch
{"train": {"loss": [1.06, 0.98]}, "val": {"loss": [0.83, 0.79]}}   grouped
{"history": {"epoch": [1, 2], "loss": [1.06, 0.98]}}               with a counter
{"loss": {"0": 1.06, "1": 0.98}, "val_loss": {"0": 0.83}}         a data frame (pandas)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import HEAD_BYTES, Head
from stethoscope.logs._tables.json_values import value_of
from stethoscope.logs._tables.table import DEEPEST, Reading, Table, looks_like_log
from stethoscope.run import Log
from stethoscope.run.names import canonical

FORMAT = "Keras history"

FEWEST_VALUES = 2  # of a column; a list of one number may be anything
HALF = 0.5
# A name and the first two numbers of its list, for documents longer than the head.
_COLUMN = re.compile(
    r'"([^"\\]{1,200})"\s*:\s*\[\s*(?:-?\d[\d.eE+-]*|NaN|-?Infinity|null)\s*,\s*(?:-?[\d.]|NaN|-?Inf|null)'
)

Named = tuple[str, list[float | None]]


def recognise(head: Head) -> float:
    """Columns of numbers under the names of losses and metrics."""
    if head.binary or head.prose or not head.text.lstrip().startswith("{"):
        return 0.0
    names = _column_names(head)
    # Settings hold lists too, of rates and milestones; only a log holds the values of a loss.
    return 0.6 if any(_is_measured(name) for name in names) else 0.0


def read(head: Head) -> Log:
    """Each column against the one that counts, else against its own places."""
    document = _document(head.whole_text())
    columns = [*_columns(document)] if document is not None else []
    if not columns:
        raise UnreadableFile(f"{head.file}: no columns of numbers in it")
    table = Table(rows=max(len(values) for _, values in columns))
    for name, values in columns:
        held = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        there = np.array([value is not None for value in values], dtype=np.bool_)
        table.add_block(name, np.flatnonzero(there), held[there])
    if not table.places:
        raise UnreadableFile(f"{head.file}: no columns of numbers in it")
    found = table.reading(head.file)
    series = found.series
    notes = found.notes
    if _rows_are_epochs(found):
        # A value on held-out data in every row: the rows are epochs, as Keras counts them.
        series = tuple(replace(one, axis="epoch") for one in series)
        notes = ()
    return Log(
        head.file,
        FORMAT,
        series,
        started=found.started,
        last_written=found.last_written or head.changed,
        total_steps=found.total_steps,
        notes=notes,
    )


def _rows_are_epochs(found: Reading) -> bool:
    lengths = {len(series) for series in found.series}
    counted = any(series.axis != "row" for series in found.series)
    return not counted and len(lengths) == 1 and any(s.name.startswith("val/") for s in found.series)


def _column_names(head: Head) -> list[str]:
    if head.size > HEAD_BYTES or head.packing:
        names = _COLUMN.findall(head.text)
        return names if looks_like_log(names) else []
    document = _document(head.text)
    if document is None:
        return []
    columns = dict(_columns(document))
    plain = [value for value in document.values() if not isinstance(value, list | dict)]
    return [] if len(plain) > HALF * (len(plain) + len(columns)) else [*columns]


def _document(text: str) -> dict[str, object] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _is_measured(name: str) -> bool:
    return canonical(name).split("/")[0] in {"loss", "val", "train"}


def _columns(document: Mapping[str, object], path: str = "", depth: int = 1) -> Iterator[Named]:
    """The lists of numbers in a document by path."""
    for key, value in document.items():
        name = f"{path}/{key}" if path and path not in _WRAPPERS else key
        if isinstance(value, list):
            numbers = [value_of(item) for item in value]
            if len(numbers) >= FEWEST_VALUES and sum(n is not None for n in numbers) > HALF * len(numbers):
                yield name, numbers
        elif isinstance(value, Mapping):
            if len(value) >= FEWEST_VALUES and all(index == str(at) for at, index in enumerate(value)):
                numbers = [value_of(item) for item in value.values()]
                if any(number is not None for number in numbers):
                    yield name, numbers
            elif depth < DEEPEST:
                yield from _columns(value, name, depth + 1)


_WRAPPERS = frozenset({"history", "metrics", "log", "logs", "results", "params"})
