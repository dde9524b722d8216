"""A curve drawn with letters: braille dots, or asterisks where only ASCII can be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The bit of each dot of a braille letter, by row and column.
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
FIRST_BRAILLE = 0x2800
LOG_FROM = 100.0  # a positive curve that spans this factor is drawn on a log scale


@dataclass(frozen=True, slots=True)
class Plot:
    """The rows of a plot, the values at its top and bottom, and how steps map to columns."""

    rows: tuple[str, ...]
    top: float
    bottom: float
    logarithmic: bool
    first: int
    last: int

    def column(self, step: float) -> int:
        """The column that shows this step."""
        return int(_scaled(np.array([float(step)]), self.first, self.last, len(self.rows[0]))[0])


def plot(steps: Floats, values: Floats, width: int, height: int, only_ascii: bool = False) -> Plot | None:
    """Draw the finite values over their steps; None where there is nothing to draw."""
    finite = np.isfinite(values)
    if not finite.any():
        return None
    drawn, low, high = values[finite], float(values[finite].min()), float(values[finite].max())
    logarithmic = low > 0 and high / low >= LOG_FROM
    levels = np.log10(drawn) if logarithmic else drawn
    across, down = (1, 1) if only_ascii else (2, 4)
    x = _scaled(steps[finite].astype(np.float64), float(steps[0]), float(steps[-1]), width * across)
    y = _scaled(-levels, float(-levels.max()), float(-levels.min()), height * down)
    dots = _joined(x, y, width * across, height * down)
    rows = _asterisks(dots) if only_ascii else _braille(dots)
    return Plot(tuple(rows), high, low, logarithmic, int(steps[0]), int(steps[-1]))


def _scaled(values: Floats, low: float, high: float, cells: int) -> npt.NDArray[np.int64]:
    """Values between low and high as cell numbers; the middle where low is high."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values / 2 - low / 2) / (high / 2 - low / 2) if high > low else np.full(values.shape, 0.5)
    return np.clip(np.nan_to_num(share) * (cells - 1) + 0.5, 0, cells - 1).astype(np.int64)


def _joined(
    x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], across: int, down: int
) -> npt.NDArray[np.bool_]:
    """The dots of the curve; each column is filled from its lowest point to its highest."""
    lowest, highest = np.full(across, down), np.full(across, -1)
    np.minimum.at(lowest, x, y)
    np.maximum.at(highest, x, y)
    seen = np.flatnonzero(highest >= 0)
    columns = np.arange(seen[0], seen[-1] + 1)
    upper = np.interp(columns, seen, lowest[seen]).round().astype(np.int64)
    lower = np.interp(columns, seen, highest[seen]).round().astype(np.int64)
    # Where two columns do not touch, the later one reaches up or down to the earlier one.
    upper[1:] = np.minimum(upper[1:], lower[:-1] + 1)
    lower[1:] = np.maximum(lower[1:], upper[:-1] - 1)
    dots = np.zeros((down, across), dtype=np.bool_)
    for column, top, bottom in zip(columns, upper, lower, strict=True):
        dots[top : bottom + 1, column] = True
    return dots


def _braille(dots: npt.NDArray[np.bool_]) -> Iterator[str]:
    for top in range(0, dots.shape[0], 4):
        cells = dots[top : top + 4].reshape(4, -1, 2).transpose(1, 0, 2)
        yield "".join(chr(FIRST_BRAILLE + int((cell * BRAILLE).sum())) for cell in cells).replace(
            chr(FIRST_BRAILLE), " "
        )


def _asterisks(dots: npt.NDArray[np.bool_]) -> Iterator[str]:
    for row in dots:
        yield "".join("*" if dot else " " for dot in row)
