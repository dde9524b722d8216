"""Which values are distributions over classes: labels as one-hot rows, smoothed or mixed, or a softmax."""

from __future__ import annotations

from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Choice, Constant, Value

MADE = frozenset({"one_hot", "softmax", "eye", "scatter", "scatter_"})
FILLED = frozenset({"full", "full_like", "zeros", "zeros_like"})  # and scattered into, which no value shows
KEEPING = frozenset(
    {"float", "to", "detach", "clone", "[]", "type_as", "half", "cuda", "contiguous", "view", "reshape"}
    | {"permute", "transpose", "unsqueeze", "squeeze", "neg", "clamp", "flatten", "index_select"}
)
DEPTH = 10


def is_distribution(run: Execution, value: Value, depth: int = DEPTH) -> bool:
    """Whether a value surely is made of distributions alone; one with a minus before it counts as well."""
    value = quietly(run, value)
    if depth == 0:
        return False
    match value:
        case Choice(options=options):
            return bool(options) and all(is_distribution(run, one, depth - 1) for one in options)
        case Applied(callee="+", args=args):
            return any(is_distribution(run, one, depth - 1) for one in args) and all(
                is_distribution(run, one, depth - 1) or _is_share(run, one) for one in args
            )
        case Applied(callee="*" | "/", args=(first, second)):
            return (is_distribution(run, first, depth - 1) and _is_share(run, second)) or (
                value.callee == "*" and is_distribution(run, second, depth - 1) and _is_share(run, first)
            )
        case Applied(callee=callee, args=args):
            last = callee.rpartition(".")[2]
            if last in MADE or last in FILLED:
                return True
            return last in KEEPING and bool(args) and is_distribution(run, args[0], depth - 1)
    return False


def _is_share(run: Execution, value: Value) -> bool:
    """Whether a value is a number, or a sum of numbers: no tensor that could have another sign somewhere."""
    value = quietly(run, value)
    match value:
        case Constant(value=int() | float() as number):
            return number >= 0
        case Applied(callee="+" | "-" | "*" | "/", args=args):
            return all(_is_share(run, one) for one in args)
        case Applied(callee=callee):
            return callee in {"float", "len", "numpy.random.beta", ".item", "max", "min"}
    return not isinstance(value, Applied | Choice)
