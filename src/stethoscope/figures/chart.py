"""What can be drawn: a chart of lines and bands, an image, a list of estimates, and a figure of several.

    Figure                  a title, panels in a grid, a caption
    |-- Chart               two axes
    |   |-- Line            y over x; a value that is not finite is a gap
    |   |-- Band            the area between two lines, as of a spread or a histogram
    |   |-- Mark            an upright line at one x: "rewind", "epoch 3"
    |   `-- Level           a level line at one y: "largest fp16", "chance"
    |-- Image               pixels
    `-- Estimates           named values with their intervals, one row each
        `-- Estimate

Each of the three panels can be drawn alone. Numbers may be arrays, tensors or plain sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers: TypeAlias = NDArray[np.float64]

# "steps" holds each value until the next x; "dots" draws the points alone.
Style: TypeAlias = Literal["solid", "dashed", "dotted", "steps", "dots"]

# Good and bad have the same two colours in every picture; muted is grey, for what only stands behind.
# Without a tone a line gets a colour of its own.
Tone: TypeAlias = Literal["good", "bad", "muted"]

# A side of None is fitted to what is drawn.
Limits: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Line:
    """The values `y` at the places `x`, in the order given."""

    name: str  # empty: not in the legend
    x: Numbers
    y: Numbers
    style: Style
    tone: Tone | None

    def __init__(
        self, name: str, x: ArrayLike, y: ArrayLike, style: Style = "solid", tone: Tone | None = None
    ) -> None:
        x_values, y_values = _columns(name, x=x, y=y)
        _set(self, name=name, x=x_values, y=y_values, style=style, tone=tone)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Band:
    """The area from `low` to `high` at the places `x`."""

    name: str  # empty, or the name of a line: not in the legend, and in that line's colour
    x: Numbers
    low: Numbers
    high: Numbers
    tone: Tone | None

    def __init__(
        self, name: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, tone: Tone | None = None
    ) -> None:
        x_values, lows, highs = _columns(name, x=x, low=low, high=high)
        _set(self, name=name, x=x_values, low=lows, high=highs, tone=tone)


@dataclass(frozen=True, slots=True)
class Mark:
    """An upright line at `x` with a few words."""

    x: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A level line at `y` with a few words."""

    y: float
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Lines and bands over two axes.

    On a logarithmic axis values that are not above zero are gaps. `note` is one line below the axes.
    """

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Mark] = ()
    levels: Sequence[Level] = ()
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    x_limits: Limits = (None, None)
    y_limits: Limits = (None, None)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Image:
    """Pixels: rows by columns (grey), or rows by columns by 3 (RGB).

    Bytes are 0 to 255. Other numbers run from `black` to `white`; what lies beyond is clipped, and what is
    not finite is drawn in a colour that no picture has by accident.
    """

    title: str
    pixels: NDArray[np.uint8]  # rows by columns by 3
    note: str

    def __init__(
        self, title: str, pixels: ArrayLike, note: str = "", black: float = 0.0, white: float = 1.0
    ) -> None:
        _set(self, title=title, pixels=_bytes_of(pixels, black, white), note=note)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One named value and the interval it lies in."""

    name: str
    value: float
    low: float
    high: float
    tone: Tone | None = None
    text: str = ""  # at the end of its row: "necessary", "+1.2 dB"


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Values with their intervals, one row each, over one axis.

    `reference` is drawn upright through all rows (0 for "makes no difference"); `margin` is the area around
    it that counts as none.
    """

    title: str = ""
    x_label: str = ""
    rows: Sequence[Estimate] = ()
    reference: float | None = None
    margin: tuple[float, float] | None = None
    note: str = ""


Panel: TypeAlias = Chart | Image | Estimates


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Panels side by side, `columns` to a row; without `columns` as many as fit well."""

    title: str = ""
    panels: Sequence[Panel] = ()
    columns: int | None = None
    caption: str = ""


Drawing: TypeAlias = Panel | Figure


NOT_FINITE = (255, 0, 255)  # magenta


def _columns(name: str, **given: ArrayLike) -> list[Numbers]:
    """The numbers as columns of one length."""
    columns = {}
    for key, values in given.items():
        columns[key] = column = _array(values).astype(np.float64)
        if column.ndim != 1:
            raise ValueError(f"{name!r}: {key} has the shape {column.shape}; give one row of numbers.")
        column.setflags(write=False)
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{len(column)} of {key}" for key, column in columns.items())
        raise ValueError(f"{name!r}: as many values of each are needed; there are {lengths}.")
    return list(columns.values())


def _array(values: Any) -> NDArray[Any]:
    """The numbers as an array; those of a tensor without its history, and of any width of float."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values
    return np.asarray(values)


def _bytes_of(given: ArrayLike, black: float, white: float) -> NDArray[np.uint8]:
    """The pixels as rows by columns by RGB."""
    pixels = _array(given)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise ValueError(
            f"an image has the shape {_array(given).shape}; give rows by columns, or those by 3."
        )
    if pixels.dtype != np.uint8:
        pixels = _from_numbers(pixels.astype(np.float64), black, white)
    shown = pixels.astype(np.uint8)
    shown.setflags(write=False)
    return shown


def _from_numbers(values: Numbers, black: float, white: float) -> NDArray[np.uint8]:
    if not white > black:
        raise ValueError(f"black is {black:g} and white {white:g}; white must be above black.")
    broken = ~np.asarray(np.isfinite(values).all(axis=2))
    share = (np.where(broken[:, :, None], black, values) - black) / (white - black)
    shown = np.rint(np.clip(share, 0, 1) * 255).astype(np.uint8)
    shown[broken] = NOT_FINITE
    return shown


def _set(noun: object, **values: object) -> None:
    """Fill a frozen noun whose fields are made from what was given."""
    for field, value in values.items():
        object.__setattr__(noun, field, value)
