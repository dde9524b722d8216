"""The charts of a run as pictures, one file each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stethoscope.diagnose import Diagnosis
from stethoscope.errors import MissingExtra, UnwritableFile
from stethoscope.figures.save import save
from stethoscope.report.html.charts import panels, picture

LONGEST_NAME = 40  # characters of a file's name taken from a series


def write(diagnosis: Diagnosis, folder: Path) -> tuple[Path, ...]:
    """Write every chart as SVG and, where the extra for it is installed, as PNG; say which files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnwritableFile(f"{folder} could not be made: {problem.strerror or problem}.") from problem
    return tuple(_written(diagnosis, folder))


def _written(diagnosis: Diagnosis, folder: Path) -> Iterator[Path]:
    for panel in panels(diagnosis):
        drawn, stem = picture(panel), f"{panel.number:02}-{_plain(panel.title)}"
        save(drawn, folder / f"{stem}.svg")
        yield folder / f"{stem}.svg"
        try:
            save(drawn, folder / f"{stem}.png")
        except MissingExtra:
            continue
        yield folder / f"{stem}.png"


def _plain(title: str) -> str:
    """A title in the letters that every file system takes."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:LONGEST_NAME].strip("-") or "series"
