"""Metrics tried on numbers: whether a function does what it is called.

The error between two pictures is made ten times as large. A PSNR then falls by 20 decibels whatever its
peak, a root mean square grows tenfold and a mean square a hundredfold. Two masks that are equal have a Dice
score, an intersection over union and an F1 of 1. Nothing of the user's code runs: see `objective/probe`.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment
from stethoscope.program.walk.values import Applied, Constant, Delayed, FunctionValue, Leaf, Site, Value

Array = npt.NDArray[np.float64]

SHAPES = ((2, 3, 16, 16), (2, 1, 16, 16), (16, 16, 3), (16, 16), (2, 64), (64,))
PEAKS = (1.0, 255.0)
ERROR = 0.003
TENFOLD = 10.0
DECIBELS = 20.0  # that ten times the error costs
NEAR = 0.02  # relative, for what a formula does exactly
# What mistakes in the formula come to: a factor of 20 for a square or of 10 for a root, no factor, a natural
# logarithm, and each of them with the wrong sign.
_BY_MISTAKE = (40.0, 10.0, 2.0, 1.0, 20 * math.log(10), 10 * math.log(10), -20.0, -40.0, -10.0)
# Peaks that come of a square too few or too many.
_PEAKS_BY_MISTAKE = (math.sqrt(255.0), 255.0**2)
# fmt: off
PLAIN = frozenset({
    "calculate", "calc", "compute", "computes", "get", "eval", "evaluate", "metric", "metrics", "score",
    "val", "test", "batch", "fn", "np", "torch", "numpy", "pt", "image", "img", "images", "mean", "my",
    "cal", "func", "coef", "coefficient", "coeff", "binary", "per", "sample", "of", "the", "avg", "average",
    "loss",
})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class WrongMetric:
    """A metric that is not what it is called; `does` says what it does, `ought` what it should."""

    name: str
    site: Site
    does: str
    ought: str


@remembered
def wrong_metrics(index: Index) -> tuple[WrongMetric, ...]:
    """The functions of a program that are called like a metric and compute another thing."""
    with warnings.catch_warnings():  # empty slices and the like: the result is not a number, which is seen
        warnings.simplefilter("ignore")
        found = [_tried(index, function) for function in index.functions]
    return tuple(one for one in found if one is not None)


def wrong_where_assigned(walk: Walk) -> Iterator[WrongMetric]:
    """`psnr = 20 * torch.log10(1 / mse)`, in a line of an evaluation."""
    run = walk.trace.run
    for event in walk.trace.events:
        if not isinstance(event, Assignment) or not isinstance(event.target, ast.Name):
            continue
        if "psnr" not in words(event.target.id) or not isinstance(event.value, Applied):
            continue
        value = quietly(run, event.value)
        operands = operands_of(run.index, value)
        if len(operands) == 2:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wrong = _decibels(run.index, value, operands)
            if wrong is not None:
                yield WrongMetric(event.target.id, event.site, *wrong)


def _tried(index: Index, function: Function) -> WrongMetric | None:
    kind = _kind(function)
    if not kind or (function.owner is not None and "staticmethod" not in function.decorators):
        return None
    asked = _asked(function, kind)
    if asked is None:
        return None
    value, operands = asked
    if kind == "psnr":
        wrong = _decibels(index, value, operands)
    elif kind in GROWTH:
        wrong = _growth(index, value, operands, kind) if len(operands) == 2 else None
    else:
        wrong = _of_equal_masks(index, value, operands) if len(operands) == 2 else None
    return WrongMetric(function.name, Site(function.source, _line(function)), *wrong) if wrong else None


def _kind(function: Function) -> str:
    """The one metric that a name says, where it says nothing else."""
    parts = words(function.name)
    if "2" in parts or "to" in parts or "loss" in parts:
        parts = tuple(part for part in parts if part not in {"mse", "2", "to"})
    named = [part for part in parts if part in KINDS]
    rest = [part for part in parts if part not in KINDS and part not in PLAIN]
    is_loss = "loss" in parts and named != ["rmse"]
    return KINDS[named[0]] if len(named) == 1 and not rest and not is_loss else ""


KINDS = {"psnr": "psnr", "mse2psnr": "psnr", "rmse": "rmse", "mse": "mse", "mae": "mae"} | dict.fromkeys(
    ("dice", "iou", "jaccard", "f1"), "overlap"
)
GROWTH = {"rmse": TENFOLD, "mse": TENFOLD**2, "mae": TENFOLD}


def _asked(function: Function, kind: str) -> tuple[Delayed, tuple[Value, ...]] | None:
    """The call of a metric with two unknowns, or with its error; None where it needs what is not known."""
    spec = function.node.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    needed = names[: len(names) - len(spec.defaults)]
    if kind == "psnr" and needed and {"mse", "rmse"} & set(words(needed[0])) and len(needed) == 1:
        error = Leaf(needed[0])
        return _call(function, (error,)), (error,)
    if len(needed) < 2:
        return None
    given: list[Value] = [Leaf(needed[0]), Leaf(needed[1])]
    for name in needed[2:]:
        known = _usual(name)
        if known is None:
            return None
        given.append(Constant(known))
    return _call(function, tuple(given)), (given[0], given[1])


def _usual(name: str) -> float | int | None:
    """What people give for a parameter that has no default."""
    parts = set(words(name))
    if parts & {"crop", "border", "shave", "pad", "margin"}:
        return 0
    return 1.0 if parts & {"max", "peak", "range", "maxval", "maxi"} else None


def _call(function: Function, args: tuple[Value, ...]) -> Delayed:
    return Delayed(FunctionValue(function), args, {}, Site(function.source, function.node))


def _line(function: Function) -> ast.AST:
    """The line of a formula: its logarithm, or what is returned."""
    nodes = sorted(own_nodes(function.node), key=lambda node: getattr(node, "lineno", 0))
    for node in nodes:
        name = getattr(getattr(node, "func", None), "attr", "") if isinstance(node, ast.Call) else ""
        if name in {"log10", "log"}:
            return node
    return next((node for node in reversed(nodes) if isinstance(node, ast.Return)), function.node)


# Decibels


def _decibels(index: Index, value: Value, operands: Sequence[Value]) -> tuple[str, str] | None:
    """What a PSNR does that is none, and what it should do."""
    falls, peaks = [], []
    tries = _errors() if len(operands) == 1 else _pictures()
    is_root = len(operands) == 1 and "rmse" in words(getattr(operands[0], "name", ""))
    for small, large, squares in tries:
        if is_root:
            small, large = (np.sqrt(small[0]),), (np.sqrt(large[0]),)
        near, far = (score(index, value, operands, given) for given in (small, large))
        if near is None or far is None or not (math.isfinite(near) and math.isfinite(far)) or near == far:
            continue
        falls.append(near - far)
        peaks.append(10 ** ((near + 10 * math.log10(squares)) / 20) if abs(near) < 400 else 0.0)
    if not falls or any(abs(fall - DECIBELS) <= NEAR * DECIBELS for fall in falls):
        wrong_peaks = [peak for peak in peaks if any(_is(peak, one) for one in _PEAKS_BY_MISTAKE)]
        if falls and len(wrong_peaks) == len(peaks):
            return f"its peak comes to {peaks[0]:.4g}", "a peak of 255 is squared once"
        return None
    known = {mistake for mistake in _BY_MISTAKE if all(_is(fall, mistake) for fall in falls)}
    if not known:
        return None
    fall = falls[0]
    does = f"falls by {fall:.3g} dB" if fall > 0 else f"rises by {-fall:.3g} dB"
    return f"it {does} where the error grows tenfold", "a PSNR falls by 20 dB"


def _is(number: float, other: float) -> bool:
    return abs(number - other) <= NEAR * abs(other)


Try = tuple[tuple[Array, ...], tuple[Array, ...], float]


def _pictures() -> Iterator[Try]:
    """Pairs of pictures with a small error and with ten times of it, and the mean square of the small one."""
    for shape in SHAPES:
        rng = np.random.default_rng(len(shape))
        target, noise = rng.uniform(0.3, 0.7, shape), ERROR * rng.choice([-1.0, 1.0], shape)
        for peak in PEAKS:
            near, far = ((target + times * noise) * peak for times in (1.0, TENFOLD))
            yield (near, target * peak), (far, target * peak), (ERROR * peak) ** 2


def _errors() -> Iterator[Try]:
    """Mean squares, and a hundred times of them."""
    for peak in PEAKS:
        square = np.asarray((ERROR * peak) ** 2)
        yield (square,), (square * TENFOLD**2,), float(square)


# Means of errors


def _growth(index: Index, value: Value, operands: Sequence[Value], kind: str) -> tuple[str, str] | None:
    ratios = []
    for small, large, _ in _pictures():
        near, far = (score(index, value, operands, given) for given in (small, large))
        if near is not None and far is not None and near != 0 and math.isfinite(far / near):
            ratios.append(far / near)
    ought = GROWTH[kind]
    wrong = TENFOLD if ought == TENFOLD**2 else TENFOLD**2
    if not ratios or not all(_is(ratio, wrong) for ratio in ratios):
        return None
    return (
        f"it grows {wrong:.0f} times where the error grows tenfold",
        f"the {kind.upper()} grows {ought:.0f} times",
    )


# Overlaps


def _of_equal_masks(index: Index, value: Value, operands: Sequence[Value]) -> tuple[str, str] | None:
    scores = []
    for shape in ((2, 1, 16, 16), (16, 16), (2, 64), (256,)):
        for share in (0.2, 0.6):
            mask = (np.random.default_rng(1).uniform(size=shape) < share).astype(np.float64)
            found = score(index, value, operands, (mask, mask))
            if found is not None and math.isfinite(found):
                scores.append(found)
    is_half = bool(scores) and all(abs(one - 0.5) < 0.01 for one in scores)
    return ("it gives 0.5 for two masks that are equal", "they overlap by 1") if is_half else None
