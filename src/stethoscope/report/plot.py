"""A curve drawn with letters: braille dots, or asterisks where only ASCII can be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.run import Steps

Floats = npt.NDArray[np.float64]

# The bit of each dot of a braille letter, by row and column.
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
FIRST_BRAILLE = 0x2800
FAR = 3.0  # a value this many times further from its column's median than usual is drawn by itself
SEVERAL = 2  # values a column from which the line is called one of medians
LOG_FROM = 100.0  # a positive curve that spans this factor is drawn on a log scale


@dataclass(frozen=True, slots=True)
class Plot:
    """The rows of a plot, what they show, and how steps map to columns."""

    rows: tuple[str, ...]
    top: float
    bottom: float
    logarithmic: bool
    medians: bool  # whether the line stands for several values a column
    first: int
    last: int

    def columns(self, steps: Steps) -> list[int]:
        """The columns that show these steps, each once."""
        cells = _scaled(steps.astype(np.float64), self.first, self.last, len(self.rows[0]))
        shown: list[int] = np.flatnonzero(np.bincount(cells)).tolist()
        return shown


def plot(steps: Floats, values: Floats, width: int, height: int, only_ascii: bool = False) -> Plot | None:
    """Draw the finite values over their steps; None where there is nothing to draw."""
    finite = np.isfinite(values)
    if not finite.any():
        return None
    across, down = (1, 1) if only_ascii else (2, 4)
    x = _scaled(steps[finite].astype(np.float64), float(steps[0]), float(steps[-1]), width * across)
    drawn = _folded(x, values[finite])
    low, high = float(drawn.lowest.min()), float(drawn.highest.max())
    logarithmic = low > 0 and high / low >= LOG_FROM
    dots = _joined(drawn, logarithmic, width * across, height * down)
    rows = _asterisks(dots) if only_ascii else _braille(dots)
    return Plot(
        tuple(rows),
        high,
        low,
        logarithmic,
        len(x) > SEVERAL * len(drawn.columns),
        int(steps[0]),
        int(steps[-1]),
    )


@dataclass(frozen=True, slots=True)
class _Folded:
    """The columns that hold points, with the extremes of each and its two middle values."""

    columns: npt.NDArray[np.int64]
    lowest: Floats
    highest: Floats
    middle: tuple[Floats, Floats]


def _folded(x: npt.NDArray[np.int64], values: Floats) -> _Folded:
    """A curve folded into its columns; `x` does not fall."""
    starts = np.flatnonzero(np.diff(x, prepend=-1))
    parts = np.split(values, starts[1:])
    halves = [((len(part) - 1) // 2, len(part) // 2) for part in parts]
    middle = [np.partition(part, half)[list(half)] for part, half in zip(parts, halves, strict=True)]
    lower, upper = np.array(middle).T
    return _Folded(
        x[starts], np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts), (lower, upper)
    )


def _scaled(values: Floats, low: float, high: float, cells: int) -> npt.NDArray[np.int64]:
    """Values between low and high as cell numbers; the middle where low is high."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values / 2 - low / 2) / (high / 2 - low / 2) if high > low else np.full(values.shape, 0.5)
    return np.clip(np.nan_to_num(share) * (cells - 1) + 0.5, 0, cells - 1).astype(np.int64)


def _joined(drawn: _Folded, logarithmic: bool, across: int, down: int) -> npt.NDArray[np.bool_]:
    """The dots of the curve: a line through the median of each column, and what lies far from it."""
    dots = np.zeros((down, across), dtype=np.bool_)
    seen = drawn.columns
    bottom, top = (_level(drawn.lowest, logarithmic).min(), _level(drawn.highest, logarithmic).max())
    # Rows count downwards, so the highest value has the lowest number.
    highest, lowest, *middle = (
        _scaled(-_level(values, logarithmic), float(-top), float(-bottom), down)
        for values in (drawn.highest, drawn.lowest, *drawn.middle)
    )
    medians = (middle[0] + middle[1]) / 2
    for extreme in (highest, lowest):
        distance = np.abs(extreme - medians)
        far = distance > FAR * max(float(np.median(distance)), 1.0)
        dots[extreme[far], seen[far]] = True
    columns = np.arange(seen[0], seen[-1] + 1)
    line = np.interp(columns, seen, medians).round().astype(np.int64)
    # Where two columns do not touch, the later one reaches up or down to the earlier one.
    before = np.concatenate([line[:1], line[:-1]])
    upper = np.minimum(line, np.where(before < line, before + 1, line))
    lower = np.maximum(line, np.where(before > line, before - 1, line))
    for column, top, bottom in zip(columns, upper, lower, strict=True):
        dots[top : bottom + 1, column] = True
    return dots


def _level(values: Floats, logarithmic: bool) -> Floats:
    return np.log10(values) if logarithmic else values


def _braille(dots: npt.NDArray[np.bool_]) -> Iterator[str]:
    # Empty cells are braille too: where a font borrows these letters, all of a row have one width.
    for top in range(0, dots.shape[0], 4):
        cells = dots[top : top + 4].reshape(4, -1, 2).transpose(1, 0, 2)
        yield "".join(chr(FIRST_BRAILLE + int((cell * BRAILLE).sum())) for cell in cells)


def _asterisks(dots: npt.NDArray[np.bool_]) -> Iterator[str]:
    for row in dots:
        yield "".join("*" if dot else " " for dot in row)
