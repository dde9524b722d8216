"""Samplers that are given one weight for each class, where they take one for each sample.

counts = np.bincount(labels)
WeightedRandomSampler(1 / counts, len(labels))          draws the numbers 0, 1, 2: the first samples
WeightedRandomSampler((1 / counts)[labels], len(labels))    draws all of them
"""

from __future__ import annotations

from collections.abc import Mapping

from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Items, Part, Site, Value

DEPTH = 16
# What has one number for each class.
COUNTING = frozenset({"bincount", "value_counts", "compute_class_weight", "Counter"})
# What leaves as many numbers as there were.
KEEPING = frozenset({
    "/", "*", "-", "+", "**", "neg", "tensor", "as_tensor", "from_numpy", "FloatTensor", "DoubleTensor",
    "Tensor", "array", "asarray", "list", "tuple", "float", "double", "to", "cpu", "cuda", "numpy",
    "to_numpy", "tolist", "to_list", "astype", "sqrt", "log", "log1p", "exp", "pow", "power", "maximum",
    "minimum", "clip", "clamp", "reciprocal", "sort_index", "sort_values", "div", "divide", "true_divide",
    "softmax", "fillna", "values", "sorted",
})  # fmt: skip


def weights_of_classes(loader: TrainingLoader) -> tuple[Site, Site] | None:
    """The sampler of a training loader that is given weights of classes, and where those are counted."""
    run = loader.run
    run.steps = max(run.steps, STEPS // 4)
    try:
        sampler = run.force(loader.options.get("sampler", Constant(None)))
        if not (isinstance(sampler, Applied) and sampler.callee.endswith("WeightedRandomSampler")):
            return None
        weights = sampler.args[0] if sampler.args else sampler.keywords.get("weights")
        counted = _counted(run, weights, DEPTH) if weights is not None else None
    except (Exhausted, RecursionError):
        return None
    return (sampler.site, counted) if counted is not None else None


def _counted(run: Execution, value: Value, depth: int) -> Site | None:
    """Where the classes are counted that something has one number for each of; None where it has others."""
    if depth == 0:
        return None
    match value:
        case Delayed():
            return _counted(run, run.expand(value), depth - 1)
        case Choice(options=options):
            found = [_counted(run, option, depth - 1) for option in options]
            return found[0] if found and all(found) else None
        case Items(items=items):
            found = [_of_one_class(run, item, depth - 1) for item in items]
            return found[0] if found and all(found) else None
        case Part(base=Applied() as made, key=int() as place) if made.callee.endswith("unique"):
            return made.site if place and _is_last(made.keywords, place) else None
        case Part(base=base, key="values" | "array"):
            return _counted(run, base, depth - 1)
        case Applied(callee="[]", args=[base, Applied(callee="slice") | Constant()]):
            return _counted(run, base, depth - 1)
        case Applied(callee=callee, args=args):
            last = callee.removesuffix("()").rpartition(".")[2]
            if last in COUNTING:
                return value.site
            # A scaler beside them has one number, or as many.
            sides = [_counted(run, arg, depth - 1) for arg in args] if last in KEEPING else []
            return next((side for side in sides if side is not None), None)
    return None


def _is_last(told: Mapping[str, Value], place: int) -> bool:
    """Whether the counts come at this place of what `unique` gives back: behind all else it is asked for."""
    asked = {name for name, value in told.items() if isinstance(value, Constant) and value.value is True}
    return "return_counts" in asked and place == len(
        asked & {"return_index", "return_inverse", "return_counts"}
    )


def _of_one_class(run: Execution, value: Value, depth: int) -> Site | None:
    """Where the class is counted that a number of a list is made for: `1 / counts[c]`, `1 / n`."""
    if depth == 0:
        return None
    match value:
        case Delayed():
            return _of_one_class(run, run.expand(value), depth - 1)
        case Part(base=base, key="*") | Applied(callee="[]", args=[base, Constant()]):
            return _counted(run, base, depth - 1)
        case Applied(callee="[]", args=[base, Part(base=over, key="*")]):
            return (
                _counted(run, base, depth - 1) if _counted(run, over, depth - 1) or _is_range(over) else None
            )
        case Applied(callee=".sum", args=[Applied(callee="==", args=[_, Constant() | Part(key="*")])]):
            return value.site
        case Applied(callee=callee, args=args) if callee.rpartition(".")[2] in KEEPING | {
            "item",
            "int",
            "max",
            "min",
        }:
            sides = [_of_one_class(run, arg, depth - 1) for arg in args]
            return next((side for side in sides if side is not None), None)
    return None


def _is_range(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee == "range"
