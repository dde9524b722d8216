"""A picture of a known size, and the steps that made it smaller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stethoscope.program.walk.values import Site


@dataclass(frozen=True, slots=True)
class Mark:
    """A resize or crop that a picture went through, and the longest side it left."""

    kind: str  # "resize" or "crop"
    callee: str
    site: Site
    longest: int
    fixed: bool  # the size does not depend on the picture's
    smooth: bool  # with antialiasing, or an averaging method


@dataclass(frozen=True, slots=True)
class Picture:
    """The size of a picture and what made it smaller.

    `detail` says that it is what a filter left of a picture, `energy` that it is the strength of something at
    each place: to average that over cells is a statistic of the whole picture, and makes no picture smaller.
    """

    height: float
    width: float
    share: float = 1.0  # of the area that is left
    marks: tuple[Mark, ...] = ()
    conditional: bool = False
    detail: bool = False
    energy: bool = False

    @property
    def longest(self) -> int:
        """The longest side in pixels."""
        return round(max(self.height, self.width))

    def resized(self, height: float, width: float, mark: Mark) -> Picture:
        """The picture at another size."""
        area = self.height * self.width
        share = self.share * height * width / area if area else 0.0
        return replace(self, height=height, width=width, share=share, marks=(*self.marks, mark))


def scaled(
    before: Picture, by: float | tuple[float, ...] | None, function: Callable[[float, float], float]
) -> tuple[float, float] | None:
    """The sides of a picture after each is scaled by a number."""
    if isinstance(by, tuple) and len(by) >= 2:
        by = min(by[-2:]) if by[-1] > 0 else None
    if not isinstance(by, int | float) or by <= 0:
        return None
    return function(before.height, by), function(before.width, by)


def as_size(
    number: float | tuple[float, ...] | None, before: Picture | None, callee: str
) -> tuple[float, float] | None:
    """The height and width that a call is asked for by one number or two."""
    if isinstance(number, tuple):
        if len(number) < 2:
            return None
        first, second = number[-2:]
        return (second, first) if callee in {"cv2.resize", ".resize", ".thumbnail"} else (first, second)
    if not isinstance(number, int | float) or number <= 0:
        return None
    if (before is not None and "Resize" in callee) or callee.endswith("functional.resize"):
        assert before is not None
        ratio = number / min(before.height, before.width)  # torchvision: the shorter side
        return before.height * ratio, before.width * ratio
    return number, number
