"""Whether more of a score is better, as far as its name and the signs in front of it tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stethoscope.program.likenesses import words
from stethoscope.run.names import HIGHER, LOWER, better

DEPTH = 8
# fmt: off
# What a name says beside the quantity itself.
BESIDE = frozenset({
    "best", "cur", "current", "curr", "avg", "average", "mean", "epoch", "this", "new", "final", "total",
    "running", "last", "prev", "previous", "val", "valid", "validation", "eval", "evaluation", "test", "dev",
    "train", "training", "lowest", "highest", "min", "max", "minimum", "maximum", "smallest", "largest", "so",
    "far", "monitor", "monitored", "metric", "metrics", "value", "to", "beat", "record", "optimal", "global",
    "early", "stop", "stopping", "stopper", "local", "overall", "ema", "history", "list", "all", "held",
    "out",
})
# With one of these the name is of a change, a share or a setting, or has its sign turned. What is called
# elbo is as often the bound as what is minimised.
OTHERWISE = frozenset({
    "neg", "negative", "minus", "inv", "inverse", "inverted", "improvement", "improved", "gain", "delta",
    "drop", "diff", "difference", "gap", "ratio", "reduction", "decrease", "weight", "weights", "scale",
    "threshold", "patience", "counter", "count", "steps", "epochs", "idx", "index", "path", "file", "worst",
    "elbo", "name", "key", "mode", "fn", "func", "function", "log", "spike", "reward", "rank", "hard",
    "hardest",
})
LOWER_TOO = frozenset({
    "losses", "cost", "costs", "eer", "chamfer", "epe", "l1", "l2", "errors", "bpc", "ade", "fde", "mpjpe",
    "nats", "wer", "cer", "nelbo", "rmse", "mse", "mae", "mape", "err", "dist", "distance", "distances",
    "der", "ter", "mcd", "crps", "brier", "smape", "wape", "mase",
})
HIGHER_TOO = frozenset({"accs", "accuracies", "psnrs", "dices", "ious", "auprc", "f1s", "pck", "nds"})
ALONE = {"per": LOWER}  # the rate of wrong phones, where no other word stands beside it
# What hands a number on.
KEEPING = frozenset({
    "item", "mean", "cpu", "detach", "numpy", "compute", "float", "round", "tolist", "avg", "average", "sum",
    "asarray", "array", "tensor", "stack", "nanmean", "median", "value", "get", "pop", "result", "float32",
    "float64", "float_", "to", "squeeze", "as_tensor", "fromiter", "list", "abs",
})
# fmt: on
_OPPOSITE = {HIGHER: LOWER, LOWER: HIGHER, None: None}


def named_direction(name: str) -> str | None:
    """Whether "higher" or "lower" values of what has this name are better; None where it does not say."""
    spoken = [word for word in words(re.sub(r"\W+", "_", name)) if word]
    if OTHERWISE.intersection(spoken):
        return None
    kept = [word for word in spoken if word not in BESIDE and not word.isdigit()]
    if not kept:
        return None
    if len(kept) == 1 and kept[0] in ALONE:
        return ALONE[kept[0]]
    said = {_of_word(word) for word in kept} - {None}
    if len(said) == 1:
        return said.pop()
    return better(f"val/{'_'.join(kept)}") if not said else None


def _of_word(word: str) -> str | None:
    if word in LOWER_TOO:
        return LOWER
    if word in HIGHER_TOO:
        return HIGHER
    return better(f"val/{word}")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where a score stands: names that are given one value, and what functions give back."""

    names: Mapping[str, ast.expr] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)  # a function's name, and its result's direction


NOTHING_KNOWN = Known()


def direction(node: ast.expr, known: Known, depth: int = DEPTH) -> str | None:
    """The same of an expression, by what is known of the names in it."""
    if depth == 0:
        return None
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _OPPOSITE[direction(inner, known, depth - 1)]
        case ast.BinOp(left=left, op=operator, right=right):
            return _of_operation(left, operator, right, known, depth)
        case ast.Call():
            return _of_call(node, known, depth)
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)):
            return named_direction(key) or (
                None if _says_otherwise(key) else direction(value, known, depth - 1)
            )
        case ast.Subscript(value=value):
            return direction(value, known, depth - 1)
        case ast.Attribute(value=value, attr=name):
            said = named_direction(name)
            is_general = not said and not _says_otherwise(name) and set(words(name)) <= BESIDE | KEEPING
            return direction(value, known, depth - 1) if is_general else said
        case ast.Name(id=name):
            return _of_name(name, known, depth)
        case ast.IfExp(body=body, orelse=other):
            said = direction(body, known, depth - 1)
            return said if said == direction(other, known, depth - 1) else None
    return None


def _says_otherwise(name: str) -> bool:
    return bool(OTHERWISE.intersection(words(name)))


def _of_operation(
    left: ast.expr, operator: ast.operator, right: ast.expr, known: Known, depth: int
) -> str | None:
    first, second = direction(left, known, depth - 1), direction(right, known, depth - 1)
    if isinstance(operator, ast.Sub):
        second = _OPPOSITE[second]
    elif isinstance(operator, ast.Div | ast.FloorDiv):
        return first if not isinstance(left, ast.Constant) else _OPPOSITE[second]
    elif isinstance(operator, ast.Mult):
        numbers = [one for one in (left, right) if _is_negative(one)]
        said = first or second if not (first and second) else None
        return _OPPOSITE[said] if numbers else said
    elif not isinstance(operator, ast.Add):
        return None
    if first and second:
        return first if first == second else None
    return first or second


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _of_call(call: ast.Call, known: Known, depth: int) -> str | None:
    """A number handed on, or what a function is named for: `accuracy(model, loader)`."""
    func = call.func
    last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if last in {"get", "pop"} and call.args and isinstance(call.args[0], ast.Constant):
        return named_direction(str(call.args[0].value))
    if last in KEEPING:
        is_method = isinstance(func, ast.Attribute) and not (call.args and _is_library(func.value))
        inner = func.value if is_method and isinstance(func, ast.Attribute) else next(iter(call.args), None)
        return direction(inner, known, depth - 1) if inner is not None else None
    return (named_direction(last) or known.results.get(last)) if last else None


def _is_library(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"np", "numpy", "torch", "jnp", "math", "statistics"}


def _of_name(name: str, known: Known, depth: int) -> str | None:
    said, made = named_direction(name), known.names.get(name)
    if made is None:
        return said
    if said is None and not _says_otherwise(name):
        return direction(made, known, depth - 1)
    # `loss = -evaluate(...)`: the name and the sign say two things.
    return None if _is_negative(made) else said
