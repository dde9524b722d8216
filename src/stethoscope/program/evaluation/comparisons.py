"""What an evaluation compares: a prediction held against something that no network made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.ingredients import LAYOUT
from stethoscope.program.evaluation.evaluation_entries import EvaluationEntry
from stethoscope.program.index import Function
from stethoscope.program.likenesses import LIKENESS_WORDS, words
from stethoscope.program.objective.orientation import spoken_name
from stethoscope.program.walk.execution import Execution, Exhausted, Record
from stethoscope.program.walk.network_passes import callable_name, comes_from_model, is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Items,
    Table,
    Value,
    lines_of,
)

# fmt: off
MEASURE_WORDS = frozenset({
    *LIKENESS_WORDS, "metric", "metrics", "score", "scores", "error", "loss", "losses", "criterion", "mse",
    "mae", "rmse", "l1", "l2", "nmse", "evaluator", "meter", "measure", "compare", "difference", "diff",
    "entropy", "nll", "bce", "kl", "divergence", "distance", "crit", "cost", "objective",
})
SHOWING_WORDS = frozenset({
    "save", "vis", "visualize", "visualise", "visual", "visuals", "plot", "grid", "show", "imshow", "draw",
    "log", "write", "imwrite", "image", "images", "panel", "figure", "export", "concat", "cat", "stack",
    "append", "add", "print", "hstack", "vstack", "gallery", "dump", "display", "paste", "collage",
})
PERCEPTUAL_WORDS = frozenset({
    "lpips", "fid", "inception", "clip", "dists", "niqe", "vgg", "perceptual", "kid", "brisque", "pieapp",
})
SEALED_WORDS = frozenset({
    "ssim", "msssim", "mssim", "vif", "fsim", "gmsd", "iwssim", "cwssim", "save", "plot", "visualize",
})
# What counts how often labels and predictions meet: the way to a confusion matrix.
COUNTING = frozenset({"bincount", "histc", "histogram", "histogram2d", "histogramdd", "index_put_"})
# fmt: on
# What makes a difference an error rather than a residual that is added back.
ERROR = re.compile(r"\*\*\s*2|abs|square|pow\(|norm|mse|mae|err|diff|loss|psnr", re.IGNORECASE)
REDUCED = re.compile(r"mean|sum|norm|avg|average|median|log10")
# What makes an unknown call a score: it is made a number, added up or listed.
COUNTED = re.compile(r"\.item\(\)|float\(|\+=|append\(|yield ")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A measurement met in validation, with the target it holds the prediction against."""

    value: Applied | Delayed
    predictions: tuple[Value, ...]
    targets: tuple[Value, ...]
    within: tuple[Function, ...]


def comparisons_in(run: Execution, entry: EvaluationEntry) -> Iterator[Comparison]:
    """The measurements of an evaluation that hold a prediction against a target."""
    for record in _all_records(run, entry):
        if not _measures(run, record.value):
            continue
        operands = list(_operands(run, record.value))
        predictions = tuple(value for value in operands if _is_predicted(run, value))
        targets = tuple(
            value for value in operands if not _is_predicted(run, value) and not isinstance(value, Constant)
        )
        if predictions and targets:
            yield Comparison(record.value, predictions, targets, record.within)


def _all_records(run: Execution, entry: EvaluationEntry) -> Iterator[Record]:
    """What was met in evaluation, and then inside the pure functions it calls, metrics excepted."""
    inside = {id(record) for record in run.records if is_inside(record, entry)}
    position = 0
    while position < len(run.records):
        record = run.records[position]
        position += 1
        if id(record) not in inside:
            continue
        yield record
        before = len(run.records)
        if isinstance(record.value, Delayed) and not _is_sealed(run, record.value):
            expanded(run, record.value)
        inside.update(id(r) for r in run.records[before:] if not is_in_network(r))


def _is_sealed(run: Execution, call: Delayed) -> bool:
    """Networks and metrics that work at several scales: what happens inside is their own business."""
    parts = set(words(spoken_name(call)))
    return bool(parts & (PERCEPTUAL_WORDS | SEALED_WORDS)) or is_network_pass(run.index, call)


def is_in_network(record: Record) -> bool:
    """Whether something was met inside of a forward pass."""
    return any(function.name == "forward" and function.owner is not None for function in record.within)


def is_inside(record: Record, entry: EvaluationEntry) -> bool:
    """Whether a record belongs to evaluation, and not to the insides of a network."""
    if is_in_network(record):
        return False
    if not entry.lines:
        return True
    site = record.value.site
    home = entry.start.source
    if site.source is not home:
        return False
    line = getattr(site.node, "lineno", 0)
    return any(first <= line <= last for first, last in entry.lines)


def _measures(run: Execution, value: Applied | Delayed) -> bool:
    name = spoken_name(value) if isinstance(value, Delayed) else spoken_callee(value)
    parts = set(words(name))
    if parts & PERCEPTUAL_WORDS:
        return False
    if isinstance(value, Applied) and value.callee == "-":
        return bool(ERROR.search(_line_of(value)) and REDUCED.search(_lines_after(value)))
    if isinstance(value, Applied) and value.callee == "()" and COUNTED.search(_line_of(value)):
        return not parts & SHOWING_WORDS
    if isinstance(value, Applied) and (value.callee == "==" or _counts_pairs(value) or _overlap(value)):
        return True
    return bool(parts & MEASURE_WORDS) or (
        isinstance(value, Applied) and value.callee in {".update", ".add_batch"}
    )


def _counts_pairs(value: Applied) -> bool:
    return value.callee.rpartition(".")[2] in COUNTING


def _overlap(value: Applied) -> tuple[Value, ...]:
    """The two sides of `(found & true).sum()`, where a score counts what they share."""
    match value:
        case Applied(callee=".sum", args=[Applied(callee="&", args=sides), *_]):
            return tuple(sides)
        case Applied(callee=callee, args=[one, other]) if callee.rpartition(".")[2] == "logical_and":
            return one, other
    return ()


def _line_of(value: Applied) -> str:
    """The lines that an expression stands on."""
    first = getattr(value.site.node, "lineno", 1)
    last = getattr(value.site.node, "end_lineno", first)
    return "\n".join(lines_of(value.site.source)[0][first - 1 : last])


def _lines_after(value: Applied, count: int = 3) -> str:
    """The line of an expression and the next few: an error is averaged soon."""
    first = getattr(value.site.node, "lineno", 1)
    return "\n".join(lines_of(value.site.source)[0][first - 1 : first + count])


def spoken_callee(value: Applied) -> str:
    """What a call outside of the repository is called."""
    if value.callee == "()":
        return callable_name(value.args[0])
    return value.callee.removesuffix("()").rpartition(".")[2]


def _operands(run: Execution, value: Applied | Delayed) -> Iterator[Value]:
    args = list(value.args)
    if isinstance(value, Applied) and _counts_pairs(value):
        args = [term for arg in args for term in _terms(arg)]
    elif isinstance(value, Applied) and (sides := _overlap(value)):
        args = list(sides)
    elif isinstance(value, Applied) and value.callee[0] in "(.":
        args = args[1:]  # the callable or the receiver
    for arg in (*args, *value.keywords.values()):
        yield from _flattened(run.force(arg) if isinstance(arg, Delayed) else arg)


def _terms(value: Value) -> Iterator[Value]:
    """What is added up in `classes * target + prediction`, the number of a pair."""
    inner = value
    while isinstance(inner, Applied) and inner.callee.rpartition(".")[2] in LAYOUT and inner.args:
        inner = inner.args[0]
    if isinstance(inner, Applied) and inner.callee in {"+", "*"}:
        for arg in inner.args:
            yield from _terms(arg)
    else:
        yield value


def _flattened(value: Value) -> Iterator[Value]:
    if isinstance(value, Items):
        for item in value.items:
            yield from _flattened(item)
    elif isinstance(value, Table):
        for item in (*value.entries.values(), *value.rest):
            yield from _flattened(item)
    elif not isinstance(value, Instance):
        yield value


def _is_predicted(run: Execution, value: Value) -> bool:
    return comes_from_model(run, value)


def expanded(run: Execution, value: Delayed) -> Value:
    """What a function of the repository gives back; nothing where that takes too long."""
    try:
        return run.expand(value)
    except (Exhausted, RecursionError):
        return Constant(None)
