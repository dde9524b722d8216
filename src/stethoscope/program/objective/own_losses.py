"""Losses that a network computes in its own forward pass, and gives back beside its outputs.

`model(x, y)`, `model(batch)["loss"]`, `output.loss`, `recon, vq_loss = model(x)`: what is minimised is part
of what a network returns. That is a loss where it is one number: a mean, a sum over everything, a loss from
outside, or made of these.
"""

from __future__ import annotations

from stethoscope.program.data.batches import entry
from stethoscope.program.data.ingredients import peeled
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Part,
    Value,
)

DEPTH = 12
# What makes one number of one number.
KEEPING = frozenset({
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "neg", "negative", "abs", "square", "pow", "**",
    "sigmoid", "tanh", "softplus", "relu", "clamp", "clip", "add", "sub", "mul", "div",
})  # fmt: skip
REDUCING = frozenset({"mean", "sum", "nanmean"})
COMPARING = frozenset({
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
    "CrossEntropyLoss",
})  # fmt: skip


def opened(run: Execution, value: Value) -> Value:
    """What a network of the repository computed at this part of its output; other values are themselves."""
    keys: list[str | int] = []
    current = value
    while isinstance(current, Part):
        keys.append(current.key)
        current = current.base
    if not (isinstance(current, Delayed) and is_network_pass(run.index, current)):
        return value
    inner: Value | None = run.expand(current)
    for key in reversed(keys):
        inner = _member(inner, key)
    return inner if inner is not None else value


def own_loss(run: Execution, value: Value) -> Value | None:
    """The formula of a loss that a network gives back; None where it is no loss, or no network's."""
    inner = peeled(value)
    if isinstance(inner, Applied) and _reduces_all(inner):
        inner = peeled(inner.args[0])  # one loss for each device
    if not isinstance(inner, Part | Delayed):
        return None
    found = opened(run, inner)
    for _ in range(DEPTH):  # networks inside networks
        deeper = opened(run, peeled(found))
        if deeper is peeled(found):
            break
        found = deeper
    return found if found is not inner and is_one_number(run, found) else None


def is_one_number(run: Execution, value: Value, depth: int = DEPTH) -> bool:
    """Whether a value is a loss by how it was made."""
    value = peeled(value)
    if depth == 0:
        return False
    match value:
        case Applied(callee="+" | "-" | "*" | "/" | "neg", args=args):
            return any(is_one_number(run, arg, depth - 1) for arg in args)
        case Applied(callee=callee, args=(inner, *_)) if callee.rpartition(".")[2] in KEEPING:
            return is_one_number(run, inner, depth - 1)
        case Applied(callee=callee):
            last = callee.removesuffix("()").rpartition(".")[2]
            is_loss = last in COMPARING or last.lower().endswith("loss")
            return (is_loss and not _is_unreduced(value)) or _reduces_all(value)
        case Delayed(callee=FunctionValue()):
            if is_network_pass(run.index, value) and len(value.args) + len(value.keywords) < 2:
                return False
            return is_one_number(run, run.expand(value), depth - 1)
        case Choice(options=options):
            return any(is_one_number(run, option, depth - 1) for option in options)
    return False


def _reduces_all(value: Applied) -> bool:
    """`x.mean()`, with no axis."""
    is_named = value.callee.rpartition(".")[2] in REDUCING
    return is_named and len(value.args) == 1 and not value.keywords.keys() & {"dim", "axis"}


def _is_unreduced(value: Applied) -> bool:
    options = {**(value.maker.keywords if value.maker is not None else {}), **value.keywords}
    reduction = options.get("reduction")
    return isinstance(reduction, Constant) and reduction.value == "none"


def _member(value: Value | None, key: str | int) -> Value | None:
    if isinstance(value, Instance) and isinstance(key, str):
        return value.attributes.get(key)
    if isinstance(value, Applied) and isinstance(key, str):
        return value.keywords.get(key)  # an output class from outside
    if isinstance(value, Choice):
        found = [one for option in value.options if (one := _member(option, key)) is not None]
        return max(found, key=lambda one: isinstance(one, Applied | Delayed), default=None)
    return entry(value, key)
