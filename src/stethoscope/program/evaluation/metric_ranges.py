"""The peak that a picture metric assumes, against the range that its pictures have.

A range is known where something bounds it: a clamp, a sigmoid, a scaling of something bounded. The peak is
read from the formula of a PSNR of the repository, or from the argument that libraries take.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import drawn, is_loader
from stethoscope.program.data.ingredients import part_path
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.evaluation.transformed_ranges import range_after, transform_of
from stethoscope.program.likenesses import words
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Part,
    Site,
    Value,
)

DEPTH = 24  # operations looked through for a bound
FITS = (0.8, 1.25)  # of the peak to the width of the range: 255 for 256 levels is no mistake

MIDDLE_BYTE = 127.5
MOST_NAMES = 12
MOST_DECIBELS = 100.0  # of a peak: sixteen bits have 96
METRIC_WORDS = frozenset({"psnr", "ssim", "msssim", "mssim"})
PEAK_KEYWORDS = ("data_range", "max_val", "max_value", "max_pixel", "peak", "L")
# fmt: off
# Distances between the features of pictures: told to `normalize`, they take pictures from zero to one.
FEATURES = frozenset({
    "FrechetInceptionDistance", "KernelInceptionDistance", "InceptionScore",
    "MemorizationInformedFrechetInceptionDistance",
})
# Those take pictures from minus one to one, unless they are told to `normalize`.
PERCEPTUAL = frozenset({"LearnedPerceptualImagePatchSimilarity", "LPIPS"})
LEAVING = frozenset({
    "float", "double", "half", "to", "cpu", "cuda", "detach", "numpy", "squeeze", "unsqueeze", "permute",
    "round", "contiguous", "astype", "byte", "clone", "transpose", "reshape", "view", "flatten", "type",
    "asarray", "array", "from_numpy", "as_tensor", "stack", "cat", "rint", "copy", "[]", "int",
    "ascontiguousarray", "cvtColor",
})
# fmt: on
Range = tuple[float, float]
BYTES: Range = (0.0, 255.0)
ENDING: dict[str, Range] = {"Sigmoid": (0.0, 1.0), "Tanh": (-1.0, 1.0)}


@dataclass(frozen=True, slots=True, eq=False)
class Mismatch:
    """A metric whose peak does not fit the range of what it compares."""

    metric: str
    peak: float
    range: Range
    formula: Site
    called: Site


def mismatches(walk: Walk) -> Iterator[Mismatch]:
    """The metrics of a walk that assume another range than their pictures have."""
    run = walk.trace.run
    for event in walk.trace.events:
        if not isinstance(event, Call):
            continue
        for peak, pictures, formula in assumed(run, event):
            known = [found for picture in pictures if (found := range_of(run, picture)) is not None]
            wrong = [found for found in known if not _fits(peak, found)]
            if wrong and len(wrong) == len(known):
                yield Mismatch(_spoken(event), peak, wrong[0], formula, event.site)


def _fits(peak: float, known: Range) -> bool:
    width = known[1] - known[0]
    return width <= 0 or FITS[0] <= peak / width <= FITS[1]


def _spoken(call: Call) -> str:
    named = "PSNR" if call.name == "log10" else call.name
    if _width_of_features(call) is not None:
        made = _kept_object(call)
        return made.callee.removesuffix("()").rpartition(".")[2] if made is not None else named
    return next((word.upper() for word in _metric_words(call)), named)


def _metric_words(call: Call) -> list[str]:
    if isinstance(call.callee, Applied):
        return _named_metrics(call.callee.callee.rpartition(".")[2])
    metric = _metric_of(call)
    return _named_metrics(metric.callee.rpartition(".")[2] if metric is not None else call.name)


def _named_metrics(name: str) -> list[str]:
    parts = words(name)
    if "peak" in parts and "noise" in parts:
        return ["psnr"]
    if "structural" in parts:
        return ["ssim"]
    return [part for part in parts if part in METRIC_WORDS]


def assumed(run: Execution, call: Call) -> Iterator[tuple[float, tuple[Value, ...], Site]]:
    """The peak that a call assumes, and the pictures it compares."""
    if call.name == "log10":
        inside = call.args[0] if call.args else call.receiver
        yield from _ratio(run, inside, call.site)
        return
    features = _width_of_features(call)
    if features is not None:
        yield (*features, call.site)
        return
    metric = _metric_of(call)
    if not _metric_words(call) and metric is None:
        return
    if isinstance(call.callee, FunctionValue) and call.receiver is None:
        yield from _formulas(run, Delayed(call.callee, call.args, call.keywords, call.site))
        return
    maker = metric or (call.callee if isinstance(call.callee, Applied) else None)
    given = {**(maker.keywords if maker is not None else {}), **call.keywords}
    for name in PEAK_KEYWORDS:
        peak = given.get(name)
        if isinstance(peak, Constant) and isinstance(peak.value, int | float) and len(call.args) >= 2:
            yield float(peak.value), call.args[:2], call.site
            return


def _width_of_features(call: Call) -> tuple[float, tuple[Value, ...]] | None:
    """How wide a range a metric on features asks for, and the pictures that it is fed with."""
    made = _kept_object(call)
    last = made.callee.removesuffix("()").rpartition(".")[2] if made is not None else ""
    if made is None or last not in FEATURES | PERCEPTUAL:
        return None
    told = call.keywords.get("normalize", made.keywords.get("normalize", Constant(False)))
    if not isinstance(told, Constant):
        return None
    if last in FEATURES:  # without `normalize` it takes bytes, and says so
        return (1.0, call.args[:1]) if told.value is True and call.args else None
    return (1.0 if told.value is True else 2.0, call.args[:2]) if len(call.args) >= 2 else None


def _kept_object(call: Call) -> Applied | None:
    """What a call feeds: `fid.update(x)`, `self.fid.update(x)`, `self.lpips(x, y)`, `lpips(x, y)`."""
    made = call.receiver
    if isinstance(made, Instance):
        made = made.attributes.get(call.name)
    elif made is None:
        made = call.callee
    elif call.name not in {"update", "forward"}:
        return None
    return made if isinstance(made, Applied) else None


def _metric_of(call: Call) -> Applied | None:
    """The metric object of `psnr.update(output, target)`, and of `self.psnr(output, target)`."""
    made = call.receiver
    if isinstance(made, Instance):
        kept = made.attributes.get(call.name)
        is_metric = isinstance(kept, Applied) and _named_metrics(kept.callee.rpartition(".")[2])
        return kept if isinstance(kept, Applied) and is_metric else None
    if call.name not in {"update", "forward", "add_batch"} or not isinstance(made, Applied):
        return None
    return made if _named_metrics(made.callee.rpartition(".")[2]) else None


def _formulas(run: Execution, metric: Delayed) -> Iterator[tuple[float, tuple[Value, ...], Site]]:
    """`10 * log10(peak ** 2 / mse)`, `20 * log10(peak / sqrt(mse))` and `20 * log10(peak) - 10 * log10(mse)`
    inside a function."""
    result = quietly(run, metric)
    for value in ancestry(run, result):
        if not isinstance(value, Applied):
            continue
        if value.callee.endswith("log10") and value.args:
            yield from _ratio(run, value.args[0], value.site)
        elif value.callee == "-" and len(value.args) == 2:
            yield from _difference(run, value)
        elif value.callee == "*" and isinstance(value.args[0], Constant) and value.args[0].value == -10:
            error = value.args[1]  # `-10 * log10(mse)` is for a peak of 1
            if isinstance(error, Applied) and error.callee.endswith("log10") and error.args:
                yield 1.0, tuple(_compared(run, error.args[0])), value.site


def _ratio(
    run: Execution, ratio: Value | None, site: Site
) -> Iterator[tuple[float, tuple[Value, ...], Site]]:
    match ratio:
        case Applied(callee="/", args=(Constant(value=int() | float() as top), bottom)):
            is_root = any(_is_root(inner) for inner in _near(bottom))
            peak = float(top) if is_root else math.sqrt(abs(float(top)))
            yield peak, tuple(_compared(run, bottom)), site


def _difference(run: Execution, value: Applied) -> Iterator[tuple[float, tuple[Value, ...], Site]]:
    """`20 * log10(peak) - 10 * log10(mse)`: decibels of the peak less those of the error."""
    of_error = value.args[1]
    if not (isinstance(of_error, Applied) and of_error.callee in {"*", ".mul"}):
        return
    logs = [one for one in of_error.args if isinstance(one, Applied) and one.callee.endswith("log10")]
    decibels = _decibels(value.args[0])
    if logs and logs[0].args and decibels is not None and 0 <= decibels <= MOST_DECIBELS:
        yield 10 ** (decibels / 20), tuple(_compared(run, logs[0].args[0])), value.site


def _decibels(value: Value) -> float | None:
    """What `20 * log10(peak)` comes to."""
    match value:
        case Constant(value=int() | float() as number):
            return float(number)
        case (
            Applied(callee="*", args=(Constant(value=int() | float() as factor), inner))
            | Applied(callee="*", args=(inner, Constant(value=int() | float() as factor)))
        ):
            logarithm = _decibels(inner)
            return factor * logarithm if logarithm is not None else None
        case Applied(callee=callee, args=(Constant(value=int() | float() as number), *_)) if (
            callee.endswith("log10") and number > 0
        ):
            return math.log10(number)
        case Applied(
            callee=callee, args=(Applied(args=(Constant(value=int() | float() as number), *_)), *_)
        ) if callee.endswith("log10") and number > 0:
            return math.log10(number)  # torch.log10(torch.tensor(255.0))
    return None


def _near(value: Value) -> Iterator[Value]:
    """A value and what it is right away made from."""
    yield value
    if isinstance(value, Applied):
        yield from value.args[:2]


def _is_root(value: Value) -> bool:
    if not isinstance(value, Applied):
        return False
    is_power = value.callee in {"**", ".pow"} and isinstance(value.args[-1], Constant)
    return value.callee.endswith("sqrt") or (is_power and value.args[-1].value == 0.5)  # type: ignore[attr-defined]


def _compared(run: Execution, error: Value) -> list[Value]:
    """The two pictures whose difference an error is."""
    for value in ancestry(run, error):
        if isinstance(value, Applied) and len(value.args) >= 2:
            if value.callee in {"-", ".sub"}:
                return [value.args[0], value.args[1]]
            if value.callee.rpartition(".")[2] in {"mse_loss", "mean_squared_error"}:
                return list(value.args[:2])
    return []


# Ranges


def range_of(run: Execution, value: Value, depth: int = DEPTH) -> Range | None:
    """The smallest and largest number that a value can hold, where something bounds it."""
    if depth == 0:
        return None
    if isinstance(value, Delayed):
        forced = quietly(run, value)
        return range_of(run, forced, depth - 1) if forced is not value else None
    if isinstance(value, Choice):
        found = {range_of(run, option, depth - 1) for option in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Part):
        return _of_part(run, value, depth)
    if not isinstance(value, Applied) or not value.args:
        return None
    return _of_operation(run, value, depth)


def _of_part(run: Execution, value: Part, depth: int) -> Range | None:
    """The range of a part: of a batch it is what the data set puts there."""
    base, keys = part_path(value)
    if is_loader(base) and keys[:1] == ("*",):
        transform = transform_of(run, base, keys[1:])
        if transform is not None:
            return range_after(transform)
        found = {range_of(run, one, depth - 1) for one in drawn(run, value)}
        if found:
            return found.pop() if len(found) == 1 else None
    is_element = isinstance(value.key, int) or value.key == "*"
    return range_of(run, value.base, depth - 1) if is_element else None


def _is_centred(operation: str, left: Value, number: float) -> bool:
    """`x * 2 - 1`, `(x - 0.5) / 0.5`, `(x - 0.5) * 2`, and `x / 127.5 - 1`, `(x - 127.5) / 127.5` of bytes:
    so is written what takes a picture to [-1, 1]."""
    if not (isinstance(left, Applied) and len(left.args) == 2):
        return False
    inner = [arg.value for arg in left.args if isinstance(arg, Constant)]
    if operation == "-" and number == 1:
        is_doubled = left.callee in {"*", ".mul"} and inner == [2]
        return is_doubled or (left.callee in {"/", ".div"} and inner == [MIDDLE_BYTE])
    if operation == "/" and number == MIDDLE_BYTE:
        return left.callee in {"-", ".sub"} and inner == [MIDDLE_BYTE]
    is_doubled = (operation == "*" and number == 2) or (operation == "/" and number == 0.5)
    return is_doubled and left.callee in {"-", ".sub"} and inner == [0.5]


def _of_operation(run: Execution, value: Applied, depth: int) -> Range | None:
    if value.maker is not None:
        return _of_made(value.maker)
    last = value.callee.removesuffix("()").rpartition(".")[2] or value.callee
    if _is_of_bytes(value, last):
        return BYTES
    if last in {"clamp", "clip", "clamp_", "clip_"}:
        return _bounds(value)
    if last in {"sigmoid", "Sigmoid"}:
        return 0.0, 1.0
    if last in {"tanh", "Tanh"}:
        return -1.0, 1.0
    if last in LEAVING:
        return range_of(run, value.args[0], depth - 1)
    operation = {"mul": "*", "mul_": "*", "div": "/", "add": "+", "sub": "-"}.get(last, value.callee)
    if operation in {"*", "/", "+", "-"} and len(value.args) == 2:
        return _scaled(run, operation, value.args[0], value.args[1], depth)
    return None


def _is_of_bytes(value: Applied, last: str) -> bool:
    """Whether pictures are read as bytes: by OpenCV without flags for other depths, or by Pillow's modes."""
    if last == "imread":
        flags = value.site.text.partition(",")[2]
        return value.callee == "cv2.imread" and not re.search(r"UNCHANGED|ANYDEPTH|-1|LOAD_GDAL", flags)
    mode = value.args[1] if last == "convert" and len(value.args) == 2 else None
    return isinstance(mode, Constant) and mode.value in {"RGB", "L"}


def _is_stretched(run: Execution, left: Value, right: Value) -> bool:
    """`(x - x.min()) / (x.max() - x.min())`, with or without something against division by zero."""
    if not (isinstance(left, Applied) and left.callee in {"-", ".sub"} and len(left.args) == 2):
        return False
    below = _called_in(run, left.args[1])
    return bool(below & {"min", "amin"}) and bool(_called_in(run, right) & {"max", "amax", "ptp"})


def _called_in(run: Execution, value: Value) -> set[str]:
    """The last names of what the numbers of a sum are made by."""
    found: set[str] = set()
    waiting = [value]
    while waiting and len(found) < MOST_NAMES:
        one = quietly(run, waiting.pop())
        if isinstance(one, Applied):
            last = one.callee.rpartition(".")[2] or one.callee
            found.add(last)
            if one.callee in {"+", "-", "[]"} or last in LEAVING:
                waiting.extend(one.args)
    return found


def _of_made(maker: Applied) -> Range | None:
    """The range of what a layer, the last layer of a chain, or a chain of transforms gives."""
    last = maker.callee.rpartition(".")[2]
    if last == "Sequential" and maker.args and isinstance(maker.args[-1], Applied):
        return _of_made(maker.args[-1])
    if last in ENDING:
        return ENDING[last]
    return range_after(maker) if last == "Compose" else None


def _bounds(value: Applied) -> Range | None:
    low = value.keywords.get("min", value.args[1] if len(value.args) > 1 else None)
    high = value.keywords.get("max", value.args[2] if len(value.args) > 2 else None)
    numbers = [v.value if isinstance(v, Constant) else None for v in (low, high)]
    if all(isinstance(number, int | float) for number in numbers):
        return float(numbers[0]), float(numbers[1])  # type: ignore[arg-type]
    return None


def _scaled(run: Execution, operation: str, left: Value, right: Value, depth: int) -> Range | None:
    if isinstance(left, Constant) and operation in {"*", "+"}:
        left, right = right, left
    if operation == "/" and _is_stretched(run, left, right):
        return 0.0, 1.0
    known = range_of(run, left, depth - 1)
    number = right.value if isinstance(right, Constant) else None
    if known is None and isinstance(number, int | float) and _is_centred(operation, left, number):
        return -1.0, 1.0
    if known is None or not isinstance(number, int | float) or (operation == "/" and number == 0):
        return None
    low, high = known
    match operation:
        case "*":
            return tuple(sorted((low * number, high * number)))  # type: ignore[return-value]
        case "/":
            return tuple(sorted((low / number, high / number)))  # type: ignore[return-value]
        case "+":
            return low + number, high + number
    return low - number, high - number
