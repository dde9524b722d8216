"""The small parts that all panels are made of: elements, texts, and the room a panel asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stethoscope.figures import words

TITLE_SIZE, NAME_SIZE, TICK_SIZE = 15.0, 12.5, 11.5
LEADING = 1.35  # from one line of text to the next, in font sizes
SIDE = 14.0  # between a panel's edge and what it shows

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Room:
    """How high the parts of a panel are; those of one row are made alike, so that their axes are level."""

    header: float
    body: float
    footer: float

    @property
    def height(self) -> float:
        """All of it."""
        return self.header + self.body + self.footer


def element(name: str, content: str = "", **attributes: str | float | None) -> str:
    """One SVG element; `content` is SVG already. `class_` and `stroke_width` are class and stroke-width."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def text(
    shown: str,
    x: float,
    y: float,
    size: float = TICK_SIZE,
    ink: Literal["ink", "faint"] = "faint",
    anchor: Anchor = "start",
    strong: bool = False,
    halo: bool = False,
) -> str:
    """One line of text with its baseline at `y`; a halo keeps it readable over lines."""
    return element(
        "text",
        words.escaped(shown),
        x=x,
        y=y,
        class_=f"st-{ink} st-halo" if halo else f"st-{ink}",
        font_size=size,
        font_weight="500" if strong else None,
        text_anchor=None if anchor == "start" else anchor,
    )


def paragraph(
    shown: str,
    x: float,
    y: float,
    widest: float,
    size: float = TICK_SIZE,
    ink: Literal["ink", "faint"] = "faint",
    strong: bool = False,
) -> str:
    """Lines of text below `y`."""
    lines = words.wrapped(shown, size, widest)
    return "".join(
        text(line, x, y + size * LEADING * (index + 0.8), size, ink, strong=strong)
        for index, line in enumerate(lines)
    )


def height_of(shown: str, widest: float, size: float = TICK_SIZE) -> float:
    """How high the lines of a text are."""
    return len(words.wrapped(shown, size, widest)) * size * LEADING


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel."""
    shown = f"{value:.1f}"
    shown = shown[:-2] if shown.endswith(".0") else shown
    return "0" if shown == "-0" else shown


def _value(value: str | float) -> str:
    return number(value) if isinstance(value, float | int) else value
