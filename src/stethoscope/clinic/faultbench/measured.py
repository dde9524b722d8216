"""What only the full bench can measure, and every smaller one needs: which faults do harm, and the noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stethoscope.clinic.faultbench.consequence import Cell, consequential
from stethoscope.clinic.faultbench.label import Label

RECORD = Path(__file__).parent / "measured.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """Which cells are consequential, and the spread of healthy scores in each task."""

    cells: dict[Cell, bool] = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)


def measured_in(labels: Sequence[Label]) -> Measured:
    """What a set of runs tells; a cell with too few runs is left out."""
    noise = {}
    for task in sorted({label.task for label in labels}):
        of_task = [label.score for label in labels if label.task == task and not label.faults]
        scores = [score for score in of_task if score is not None]
        if len(scores) > 1:
            noise[task] = float(np.std(scores, ddof=1))
    return Measured(consequential(labels), noise)


def recorded(file: Path = RECORD) -> Measured:
    """What the last full bench measured; nothing where there was none."""
    if not file.exists():
        return Measured()
    told = json.loads(file.read_text(encoding="utf-8"))
    cells = {(task, operator, level): harm for task, operator, level, harm in told["cells"]}
    return Measured(cells, told["noise"])


def keep(measured: Measured, file: Path = RECORD) -> None:
    """Write down what a full bench measured."""
    cells = [[*cell, harm] for cell, harm in sorted(measured.cells.items())]
    lines = ",\n  ".join(json.dumps(cell) for cell in cells)
    noise = json.dumps({task: round(spread, 6) for task, spread in measured.noise.items()})
    file.write_text(f'{{"cells": [\n  {lines}\n ],\n "noise": {noise}}}\n', encoding="utf-8")


def joined(record: Measured, fresh: Measured) -> Measured:
    """What was just measured, and the record for the rest."""
    return Measured({**record.cells, **fresh.cells}, {**record.noise, **fresh.noise})
