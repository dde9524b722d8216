"""How large an image is after a chain of operations, tried on one large picture.

Resizing and cropping are followed by computing the sizes they ask for, so a cap on the longest side, a
factor, a stride or a pooling all show the same way: as a picture that comes out smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from stethoscope.program.evaluation.pictures import Mark, Picture, as_size, scaled
from stethoscope.program.evaluation.resizes import POOLINGS, is_by_factor, is_fixed, is_resize, is_smooth
from stethoscope.program.likenesses import words
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Settings,
    Table,
    Value,
)

HEIGHT = WIDTH = 1024  # square, so that a cap reads as it is written
DEPTH = 60
UNKNOWN_SCALE = 2  # an upscaling factor that is not known
UNKNOWN_CAP = 128  # a limit that is not known; any limit shrinks a picture that is large enough
FILTERS = frozenset(
    {"conv2d", "filter2d", "filter2D", "sobel", "spatial_gradient", "Sobel", "Laplacian", "laplace"}
)
SQUARES = frozenset({"square", "pow", "**", "var"})
MAGNITUDES = frozenset({"abs", "absolute", "sqrt", "fabs"})
CROP_CALLS = ("center_crop", "CenterCrop", "functional.crop", "five_crop", "ImageOps.crop")


@dataclass(slots=True)
class Ruler:
    """Measures values met in one walk, for a picture of this height and width."""

    run: Execution
    height: float = HEIGHT
    width: float = WIDTH
    _pictures: dict[int, Picture | None] = field(default_factory=dict)
    _kept: list[Value] = field(default_factory=list)

    def picture(self, value: Value, depth: int = DEPTH) -> Picture | None:
        """The size of an image-like value; None where it is no image."""
        if depth <= 0:
            return None
        if id(value) not in self._pictures:
            self._kept.append(value)
            self._pictures[id(value)] = self._whole()  # while it is being measured
            self._pictures[id(value)] = self._picture(value, depth - 1)
        return self._pictures[id(value)]

    def _picture(self, value: Value, depth: int) -> Picture | None:
        match value:
            case Leaf():
                return self._whole()
            case Part(base=base) if isinstance(base, Applied | Delayed | Part | Choice):
                return self.picture(base, depth)
            case Part():
                return self._whole()
            case Choice(options=options):
                return self._smallest(options, depth)
            case Items(items=items):
                return next((p for item in items if (p := self.picture(item, depth)) is not None), None)
            case Table(entries=entries, rest=rest):
                inner = [*entries.values(), *rest]
                return next((p for item in inner if (p := self.picture(item, depth)) is not None), None)
            case Delayed():
                if is_network_pass(self.run.index, value):
                    return self._first((*value.args, *value.keywords.values()), depth)
                return self.picture(self.run.expand(value), depth)
            case Applied():
                return self._applied(value, depth)
        return None

    def _whole(self) -> Picture:
        return Picture(self.height, self.width)

    def _smallest(self, options: Sequence[Value], depth: int) -> Picture | None:
        found = [p for option in options if (p := self.picture(option, depth)) is not None]
        if not found:
            return None
        smallest = min(found, key=lambda picture: picture.share)
        return replace(
            smallest, conditional=smallest.conditional or any(p.share > smallest.share for p in found)
        )

    def _first(self, args: Sequence[Value], depth: int) -> Picture | None:
        return next((p for arg in args if (p := self.picture(arg, depth)) is not None), None)

    def _applied(self, value: Applied, depth: int) -> Picture | None:
        callee, args = value.callee, value.args
        if callee == "()":
            return self._first((*args[1:], *value.keywords.values()), depth)
        if is_resize(value):
            return self._resized(value, depth)
        if callee == "[]":
            return self._sliced(value, args[0], args[1], depth)
        if any(word in callee for word in CROP_CALLS):
            return self._cropped(value, depth)
        if callee == ".crop" and len(args) == 2:
            return self._boxed(value, depth)
        if callee in {"slice", "range", "len"}:
            return None
        first = self._first((*args, *value.keywords.values()), depth)
        return first and self._felt(value, first, depth)

    def _felt(self, value: Applied, picture: Picture, depth: int) -> Picture:
        """The picture after a call that keeps its size: filtered, or made the strength of what it was."""
        name = value.callee.removesuffix("()").rpartition(".")[2]
        if name in FILTERS or (name == "-" and all(self.picture(arg, depth) for arg in value.args)):
            return replace(picture, detail=True)
        if name in SQUARES or (name == "*" and value.args[0] is value.args[-1]):
            return replace(picture, energy=True)
        if name in MAGNITUDES:
            return replace(picture, energy=picture.detail)  # of a complex picture it is a picture
        return picture

    def _resized(self, value: Applied, depth: int) -> Picture | None:
        before = self._first(value.args, depth)
        if before is None or before.energy:
            return before
        size = self._size_asked(value, before, depth)
        if size is None:
            return before
        longest = round(max(size))
        mark = Mark("resize", value.callee, value.site, longest, is_fixed(value), is_smooth(value))
        return before.resized(*size, mark)

    def _size_asked(self, value: Applied, before: Picture, depth: int) -> tuple[float, float] | None:
        asked = value.maker or value
        rest = list(asked.args if value.maker is not None else value.args[1:])
        keywords = asked.keywords
        if any(word in value.callee for word in POOLINGS):
            kernel = keywords.get("stride") or keywords.get("kernel_size") or (rest[-1] if rest else None)
            step = self.number(kernel, depth) if kernel is not None else None
            return scaled(before, step, lambda side, by: side / by)
        if value.callee.endswith("pyrDown"):
            return before.height / 2, before.width / 2
        factor = next(
            (keywords[k] for k in ("scale_factor", "fx", "scale", "factor", "zoom") if k in keywords), None
        )
        if factor is None and is_by_factor(value) and rest:
            factor = rest[0]
        if factor is not None:
            by = self.number(factor, depth)
            if value.callee.endswith(".reduce"):
                return scaled(before, by, lambda side, divisor: side / divisor)
            return scaled(before, by, lambda side, multiple: side * multiple)
        names = ("size", "dsize", "output_shape", "output_size", "resolution")
        size = next((keywords[k] for k in names if k in keywords), rest[0] if rest else None)
        if size is None or (isinstance(size, Constant) and size.value is None):
            return None
        return as_size(self.number(size, depth), before, value.callee)

    def _sliced(self, value: Applied, base: Value, key: Value, depth: int) -> Picture | None:
        before = self.picture(base, depth)
        if before is None:
            return None
        spans = key.items if isinstance(key, Items) else [key]
        slices = [item for item in spans if isinstance(item, Applied) and item.callee == "slice"]
        if len(slices) < 2:
            return before
        has_ellipsis = any(isinstance(item, Constant) and item.value is ... for item in spans)
        pair = (
            slices[-2:]
            if has_ellipsis or len(spans) == 4 or (len(spans) == 3 and spans[0] is not slices[0])
            else slices[:2]
        )
        if len(spans) == 3 and len(slices) == 3 and not has_ellipsis:
            # CHW keeps the first axis whole, HWC the last.
            pair = slices[1:] if _is_whole(slices[0]) else slices[:2]
        sides = [
            self._slice_length(s, side, depth)
            for s, side in zip(pair, (before.height, before.width), strict=True)
        ]
        known = [side for side in sides if side is not None]
        if len(known) < 2:
            return before
        strided = any(_step_of(s) > 1 for s in pair)
        size = (max(known[0], 0.0), max(known[1], 0.0))
        if size == (before.height, before.width):
            return before
        kind = "resize" if strided else "crop"
        fixed = not strided and all(_is_constant_slice(s) for s in pair)
        mark = Mark(kind, "slice", value.site, round(max(size)), fixed, False)
        return before.resized(*size, mark)

    def _slice_length(self, piece: Applied, side: float, depth: int) -> float | None:
        bounds: list[float] = []
        for bound, default in zip(piece.args[:2], (0.0, side), strict=True):
            if isinstance(bound, Constant) and bound.value is None:
                bounds.append(default)
                continue
            number = self.number(bound, depth)
            if not isinstance(number, int | float):
                return None
            bounds.append(number + side if number < 0 else min(float(number), side))
        first, last = bounds
        return (last - first) / _step_of(piece)

    def _cropped(self, value: Applied, depth: int) -> Picture | None:
        before = self._first(value.args, depth)
        if before is None:
            return None
        asked = value.maker or value
        rest = list(asked.args if value.maker is not None else value.args[1:])
        if value.callee.endswith("functional.crop"):
            rest = rest[2:3] and [Items(rest[2:4])]
        names = ("size", "output_size")
        size = next((asked.keywords[k] for k in names if k in asked.keywords), rest[0] if rest else None)
        asked_size = as_size(self.number(size, depth), None, value.callee) if size is not None else None
        if asked_size is None:
            return before
        height, width = min(asked_size[0], before.height), min(asked_size[1], before.width)
        mark = Mark("crop", value.callee, value.site, round(max(height, width)), True, False)
        return before.resized(height, width, mark)

    def _boxed(self, value: Applied, depth: int) -> Picture | None:
        """PIL: image.crop((left, top, right, bottom))."""
        before = self._first(value.args, depth)
        box = self.number(value.args[1], depth)
        if before is None or not isinstance(box, tuple) or len(box) != 4:
            return before
        width, height = min(box[2] - box[0], before.width), min(box[3] - box[1], before.height)
        mark = Mark("crop", value.callee, value.site, round(max(height, width)), True, False)
        return before.resized(height, width, mark)

    # Numbers

    def number(self, value: Value | None, depth: int) -> float | tuple[float, ...] | None:
        """The number, or tuple of numbers, that a size expression gives for the picture."""
        if value is None or depth <= 0:
            return None
        match value:
            case Constant(value=bool() | None):
                return None
            case Constant(value=int() | float() as number):
                return number
            case Items(items=items):
                return _tuple([self.number(item, depth - 1) for item in items])
            case Choice(options=options):
                known = [n for option in options if (n := self.number(option, depth - 1)) is not None]
                return min(known, key=lambda n: max(n) if isinstance(n, tuple) else n) if known else None
            case Part():
                return self._measured_part(value, depth)
            case Leaf(name=name):
                return _assumed(name)
            case Delayed() if not is_network_pass(self.run.index, value):
                return self.number(self.run.expand(value), depth - 1)
            case Applied():
                return self._computed(value, depth)
        return None

    def _measured_part(self, value: Part, depth: int) -> float | tuple[float, ...] | None:
        base, key = value.base, value.key
        if key in {"shape"}:
            picture = self.picture(base, depth - 1)
            return (1.0, 3.0, picture.height, picture.width) if picture else None
        if key == "size" and not isinstance(base, Settings | Instance):
            picture = self.picture(base, depth - 1)
            return (picture.width, picture.height) if picture else None
        if key in {"height", "width"}:
            picture = self.picture(base, depth - 1)
            return None if picture is None else picture.height if key == "height" else picture.width
        if isinstance(key, int) or key == "*":
            whole = self.number(base, depth - 1)
            if not isinstance(whole, tuple):
                return None
            if isinstance(base, Part) and base.key == "shape" and isinstance(key, int) and key in {0, 1}:
                return whole[2 + key]  # height and width come first where people index so
            if not isinstance(key, int):
                return max(whole[-2:])
            return whole[key] if -len(whole) <= key < len(whole) else None
        return _assumed(str(key))

    def _computed(self, value: Applied, depth: int) -> float | tuple[float, ...] | None:
        callee = value.callee
        if callee == ".size":
            picture = self.picture(value.args[0], depth - 1)
            whole = (1.0, 3.0, picture.height, picture.width) if picture else None
            if whole is not None and len(value.args) > 1:
                position = self.number(value.args[1], depth - 1)
                return (
                    whole[int(position)] if isinstance(position, int | float) and -4 <= position < 4 else None
                )
            return whole
        if callee == "[]":
            return self._part_of_shape(value, depth)
        numbers = [self.number(arg, depth - 1) for arg in value.args]
        if callee in ARITHMETIC and len(numbers) == 2:
            return _operate(ARITHMETIC[callee], numbers[0], numbers[1])
        if callee in {"min", "max"}:
            flat = [n for number in numbers for n in (number if isinstance(number, tuple) else (number,))]
            known = [n for n in flat if n is not None]
            return (min if callee == "min" else max)(known) if known else None
        if callee in {
            "int",
            "round",
            "float",
            "math.floor",
            "math.ceil",
            "abs",
            "tuple",
            "list",
            "numpy.array",
        }:
            return numbers[0] if numbers else None
        if callee == "neg" and isinstance(numbers[0], int | float):
            return -numbers[0]
        return None

    def _part_of_shape(self, value: Applied, depth: int) -> tuple[float, ...] | None:
        whole = self.number(value.args[0], depth - 1)
        key = value.args[1]
        if not isinstance(whole, tuple) or not (isinstance(key, Applied) and key.callee == "slice"):
            return None
        bounds = [arg.value if isinstance(arg, Constant) else None for arg in key.args]
        if bounds[0] in {None, 0} and bounds[1] == 2:
            return whole[-2:]  # image.shape[:2] of an HWC array
        return whole[slice(*(bound if isinstance(bound, int) else None for bound in bounds))]


ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else math.nan,
    "//": lambda a, b: a // b if b else math.nan,
    "%": lambda a, b: math.fmod(a, b) if b else math.nan,
}


def _operate(
    function: Callable[[float, float], float],
    left: float | tuple[float, ...] | None,
    right: float | tuple[float, ...] | None,
) -> float | tuple[float, ...] | None:
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    result = function(left, right)
    return result if math.isfinite(result) else None


def _assumed(name: str) -> float | None:
    """A number that is not known, by what its name says it is."""
    parts = set(words(name))
    if parts & {"scale", "upscale", "sf", "upsampling"}:
        return UNKNOWN_SCALE
    return UNKNOWN_CAP if parts & {"max", "limit", "cap", "maximum", "longest"} else None


def _tuple(numbers: Sequence[float | tuple[float, ...] | None]) -> tuple[float, ...] | None:
    flat = [number for number in numbers if isinstance(number, int | float)]
    return tuple(flat) if len(flat) == len(numbers) else None


def _step_of(piece: Applied) -> float:
    step = piece.args[2]
    return (
        float(step.value)
        if isinstance(step, Constant) and isinstance(step.value, int) and step.value > 1
        else 1.0
    )


def _is_whole(piece: Applied) -> bool:
    return all(isinstance(bound, Constant) and bound.value is None for bound in piece.args)


def _is_constant_slice(piece: Applied) -> bool:
    return all(isinstance(bound, Constant) for bound in piece.args[:2])
