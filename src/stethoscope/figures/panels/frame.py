"""Where the axes of a chart are, and where a value lies between them."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.figures.axis import Axis
from stethoscope.figures.chart import Numbers


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the axes are: pixels of the panel, and what they span."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    @property
    def width(self) -> float:
        """How wide they are."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """How high they are."""
        return self.bottom - self.top

    def across(self, values: Numbers) -> Numbers:
        """How far right of the frame's left edge values lie."""
        return self.x.share(values) * self.width

    def down(self, values: Numbers) -> Numbers:
        """How far below the frame's top values lie."""
        return (1 - self.y.share(values)) * self.height
