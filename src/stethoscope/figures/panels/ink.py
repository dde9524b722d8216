"""The colour and the dashes of what is drawn, as classes and attributes of SVG."""

from __future__ import annotations

from stethoscope.figures.chart import Line
from stethoscope.figures.colours import Slot

DASHES = {"dashed": "7 4", "dotted": "0.1 4.5"}
LATER_DASHES = ("10 3 2 3", "10 3 2 3 2 3", "16 4")  # when all colours are used up: once, twice, more often


def stroke(slot: Slot) -> str:
    """The classes of a line."""
    return "st-line st-muted" if slot.colour < 0 else f"st-line st-c{slot.colour}"


def fill(slot: Slot) -> str:
    """The class of an area."""
    return "st-muted-fill" if slot.colour < 0 else f"st-f{slot.colour}"


def dash(line: Line, slot: Slot) -> str | None:
    """The dashes of a line, by its style, or by its turn when the colours begin again."""
    if slot.turn:
        return LATER_DASHES[min(slot.turn, len(LATER_DASHES)) - 1]
    return DASHES.get(line.style)
