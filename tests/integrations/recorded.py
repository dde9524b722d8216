"""What a Guard wrote down, read back as `diagnose` reads it."""

from __future__ import annotations

from pathlib import Path

from stethoscope.read import read


def recorded(directory: Path, name: str) -> list[float]:
    """The values of one quantity, step by step."""
    (record,) = directory.rglob("*.frec")
    return [float(value) for value in read(record).series[name].values]


def announced(directory: Path) -> int | None:
    """How many steps the run was to take."""
    (record,) = directory.rglob("*.frec")
    (log,) = read(record).logs
    return log.total_steps
