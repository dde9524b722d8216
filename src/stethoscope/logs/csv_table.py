"""Comma- or tab-separated tables: one row per step, one column per signal."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._head import Head
from stethoscope.run import Log, Series
from stethoscope.run.names import canonical

FORMAT = "CSV table"


def recognise(head: Head) -> float:
    """A header of names above a row of as many cells."""
    if head.binary:
        return 0.0
    lines = head.text.splitlines()
    if len(lines) < 2 or "," not in lines[0]:
        return 0.0
    return 0.8 if lines[0].count(",") == lines[1].count(",") else 0.0


def read(head: Head) -> Log:
    """Each column against the step column."""
    rows = list(csv.reader(io.StringIO(head.path.read_text(encoding="utf-8", errors="replace"))))
    names = [name.strip() for name in rows[0]]
    if "step" not in names:
        raise UnreadableFile(f"{head.file}: no step column among {', '.join(names)}")
    at = names.index("step")
    series = []
    for column, name in enumerate(names):
        if column == at:
            continue
        points = [(int(float(row[at])), _number(row[column])) for row in rows[1:] if len(row) == len(names) and row[column]]
        steps = np.array([step for step, _ in points], dtype=np.int64)
        values = np.array([value for _, value in points], dtype=np.float64)
        series.append(Series(canonical(name), name, steps, values, head.file))
    return Log(head.file, FORMAT, tuple(series))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
