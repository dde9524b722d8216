"""The picture of a detector: how often it is wrong on healthy data, and how often it finds a fault."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stethoscope.figures.chart import Chart, Estimate, Estimates, Figure, Level, Line, Panel

MEMORY = {"white": 0.0, "AR(1) 0.5": 0.5, "AR(1) 0.8": 0.8, "AR(1) 0.9": 0.9, "AR(1) 0.95": 0.95}
NOISES = ("white", "AR(1) 0.5", "AR(1) 0.8", "AR(1) 0.9", "log-normal")
MOST_ROWS = 10
Cell = Mapping[str, Any]


def picture(study: Mapping[str, Any], naive: Mapping[str, Any] | None) -> Figure:
    """Size on the left, power on the right."""
    healthy = [cell for cell in study["cells"] if cell["kind"] == "healthy"]
    faults = [cell for cell in study["cells"] if cell["kind"] == "fault"]
    panels = [_size(study, healthy, naive), *([_power(faults)] if faults else [])]
    return Figure(title=study["detector"].capitalize(), panels=panels, columns=len(panels))


def _size(study: Mapping[str, Any], healthy: Sequence[Cell], naive: Mapping[str, Any] | None) -> Panel:
    if len({_memory(cell) for cell in healthy} - {None}) < 3:
        return _rows("Healthy data: how often it speaks", healthy, naive)
    counts = sorted({cell["count"] for cell in healthy})
    lines = [_over_memory(f"n = {count:,}", healthy, count) for count in counts]
    if naive:
        most = counts[len(counts) // 2]
        lines.append(_over_memory(f"textbook, n = {most:,}", naive["cells"], most, naive=True))
    nominal = study["nominal"]
    return Chart(
        title="Healthy data: how often it speaks",
        x_label="memory of the noise (autocorrelation of neighbours)",
        y_label="share of curves",
        lines=lines,
        levels=[Level(nominal, f"nominal {nominal:.1%}")] if nominal else (),
        y_limits=(0.0, 1.0 if naive else None),
        note=f"Textbook: {naive['words']}." if naive else "The worst shape at each memory.",
    )


def _over_memory(name: str, cells: Iterable[Cell], count: int, naive: bool = False) -> Line:
    worst: dict[float, float] = {}
    for cell in cells:
        memory = _memory(cell)
        if memory is not None and cell["count"] == count:
            worst[memory] = max(worst.get(memory, 0.0), _rate(cell))
    x = sorted(worst)
    return Line(name, x, [worst[at] for at in x], "dashed" if naive else "solid", "bad" if naive else None)


def _power(faults: Sequence[Cell]) -> Panel:
    counts = sorted({cell["count"] for cell in faults})
    if len(counts) < 2:
        return _rows("Faults: how often it finds them", faults, None)
    lines = []
    for noise in NOISES:
        rates = {
            count: _mean(cell for cell in faults if cell["count"] == count and _noise(cell) == noise)
            for count in counts
        }
        known = {count: rate for count, rate in rates.items() if not math.isnan(rate)}
        if known:
            lines.append(Line(noise, list(known), list(known.values())))
    return Chart(
        title="Faults: how often it finds them",
        x_label="points of the curve",
        y_label="share of curves",
        lines=lines or [Line("all", counts, [_mean(c for c in faults if c["count"] == n) for n in counts])],
        log_x=True,
        y_limits=(0.0, 1.0),
        note="The mean over all faults of the table below.",
    )


def _rows(title: str, cells: Sequence[Cell], naive: Mapping[str, Any] | None) -> Estimates:
    textbook = {(cell["label"], cell["count"]): cell for cell in naive["cells"]} if naive else {}
    rows = []
    for cell in sorted(cells, key=_rate, reverse=True)[:MOST_ROWS]:
        rows.append(_estimate(cell["label"], cell, "good" if naive else None))
        if (cell["label"], cell["count"]) in textbook:
            rows.append(_estimate("... textbook", textbook[cell["label"], cell["count"]], "bad"))
    note = f"Textbook: {naive['words']}." if naive else ""
    return Estimates(title, "share of curves, with its 95 % interval", rows, note=note)


def _estimate(name: str, cell: Cell, tone: Any) -> Estimate:
    low, high = _interval(cell["spoke"], cell["repeats"])
    return Estimate(name, _rate(cell), low, high, tone, f"{_rate(cell):.1%}")


def _interval(hits: int, draws: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    z = 1.96
    middle = (hits + z * z / 2) / (draws + z * z)
    half = z / (draws + z * z) * math.sqrt(hits * (draws - hits) / draws + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def _memory(cell: Cell) -> float | None:
    return MEMORY.get(_noise(cell))


def _noise(cell: Cell) -> str:
    """The noise that a label ends with, without the size that may stand behind it."""
    said = (
        re.sub(r" \d\.\d+$", "", cell["label"])
        if not cell["label"].endswith(tuple(MEMORY))
        else cell["label"]
    )
    return said.rpartition(", ")[2]


def _mean(cells: Iterable[Cell]) -> float:
    rates = [_rate(cell) for cell in cells]
    return sum(rates) / len(rates) if rates else math.nan


def _rate(cell: Cell) -> float:
    return float(cell["spoke"]) / float(cell["repeats"])
