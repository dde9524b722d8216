"""Runs that grow, written as a training would."""

from __future__ import annotations

import os
from pathlib import Path

from stethoscope.findings import Severity
from stethoscope.run import Where
from stethoscope.watching.alerts import Sighting

HEADER = "step,loss\n"


def rows(first: int, last: int, broken_from: int | None = None) -> str:
    """The lines of a CSV log: a loss that falls, and is NaN from a step on."""
    lines = []
    for step in range(first, last):
        broken = broken_from is not None and step >= broken_from
        lines.append(f"{step},{'nan' if broken else f'{0.1 + 2 / (1 + step / 10):.6f}'}\n")
    return "".join(lines)


def append(path: Path, text: str) -> None:
    """Write as a logger does: at the end, and at once."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def begun(folder: Path, steps: int = 40, broken_from: int | None = None) -> Path:
    """A run folder with a log of so many steps; gives the log."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "train.csv"
    log.write_text(HEADER + rows(0, steps, broken_from), encoding="utf-8")
    return log


def seen(
    severity: Severity = Severity.WARNING,
    code: str = "LOS101",
    series: str | None = "loss",
    line: int | None = None,
) -> Sighting:
    """A sighting of a rule."""
    place = Where("train.csv", series=series, line=line)
    return Sighting(
        (code, series or f"train.py:{line}"), severity, "loss-spike", "loss jumps", code, (place,)
    )
