"""Rates of learning that the code computes itself: over which length, and from which count.

Both are seen where a count is divided by a length: `(step - warmup) / (total - warmup)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.schedules import (
    Length,
    Schedule,
    counts_batches,
    is_batch_size,
    is_length_in_batches,
    schedules,
    unit_counted,
    unit_of_value,
)
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    FunctionValue,
    Items,
    LambdaValue,
    Leaf,
    PartialValue,
    Site,
    Value,
)

DEEPEST = 6  # sums and the like between a division and the count in it
_KEEPS_UNIT = frozenset({"+", "-", "max", "min", "int", "float", "round", "math.floor", "math.ceil"})


@dataclass(frozen=True, slots=True, eq=False)
class MixedRate:
    """A rate whose count and length are in different units: where it is set, and where it is counted."""

    rate: Site
    count: Site
    counted: str
    laid_out: str


def factor_lengths(run: Execution, factor: Value | None) -> Iterator[Length]:
    """The lengths over which a function of the round computes its factor, as LambdaLR takes it."""
    factor = quietly(run, factor) if factor is not None else None
    for one in factor.items if isinstance(factor, Items) else [factor]:
        count = Leaf("round")
        for division in _divisions(run, followed(run, one, count)):
            above, below = division.args
            if _holds(run, above, count) and not isinstance(quietly(run, below), Constant):
                node = division.site.node
                yield Length("lr_lambda", below, node.right if isinstance(node, ast.BinOp) else None)


def share_divisions(run: Execution, factor: Value | None) -> Iterator[Applied]:
    """Where a function of the round divides it by a length: what it gives is a share of the whole course."""
    factor = quietly(run, factor) if factor is not None else None
    for one in factor.items if isinstance(factor, Items) else [factor]:
        count = Leaf("round")
        for division in _divisions(run, followed(run, one, count)):
            above, below = division.args
            if _holds(run, above, count) and not any(value is count for value in ancestry(run, below)):
                yield division


def all_schedules(run: Execution, value: Value | None) -> Iterator[Schedule]:
    """The schedulers that a value may be, those included whose factor is a function of the code."""
    value = quietly(run, value) if value is not None else None
    match value:
        case Choice(options=options) | Items(items=[*options]):
            for option in options:
                yield from all_schedules(run, option)
        case Applied(callee=callee, args=args, keywords=keywords) if callee.rpartition(".")[2] == "LambdaLR":
            factor = keywords.get("lr_lambda") or (args[1] if len(args) > 1 else None)
            yield Schedule("LambdaLR", value, tuple(factor_lengths(run, factor)), None)
        case _:
            yield from schedules(run, value)


def mixed_rates(loop: TrainingLoop) -> Iterator[MixedRate]:
    """Every rate that the loop sets from a count of steps over a length in epochs, or the reverse."""
    for event in loop.events:
        if not isinstance(event, Assignment) or event.operator or not _is_rate(event.target):
            continue
        for division in _divisions(loop.run, event.value):
            above, below = division.args
            if division.callee != "/" or _is_scaled(loop.run, division):
                continue
            counted, laid_out = _count_unit(loop.run, above), unit_of_value(loop.run, below)
            is_long = laid_out == "step" and any(
                counts_batches(loop.run, v) for v in ancestry(loop.run, below)
            )
            is_of_samples = counted == "sample" and is_long and not _counts_samples(loop.run, below)
            if (counted, laid_out) == ("step", "epoch") or (counted == "epoch" and is_long) or is_of_samples:
                yield MixedRate(
                    event.site, _site_of_count(loop.run, above) or division.site, counted, laid_out
                )
                break


def _count_unit(run: Execution, value: Value, depth: int = DEEPEST) -> str:
    """What a count is in; what it is multiplied by, other than the batches of an epoch, is a rate."""
    value = quietly(run, value)
    if id(value) in run.counted_by:
        # Rounds that are called steps may well be epochs; the reverse nobody says.
        told = unit_counted(run.counted_by[id(value)][1])
        return unit_of_value(run, value) or ("epoch" if told == "epoch" else "")
    if not isinstance(value, Applied) or depth == 0:
        return unit_of_value(run, value)
    if value.callee == "*" and any(counts_batches(run, arg) for arg in value.args):
        return "step"
    if value.callee == "*" and any(is_batch_size(run, arg) for arg in value.args):
        units = {_count_unit(run, arg, depth - 1) for arg in value.args if not is_batch_size(run, arg)}
        return "sample" if units == {"step"} else ""
    if value.callee != "*" and value.callee not in _KEEPS_UNIT:
        return unit_of_value(run, value)
    units = {unit for arg in value.args if (unit := _count_unit(run, arg, depth - 1))}
    return "step" if "step" in units and value.callee == "+" else units.pop() if len(units) == 1 else ""


def _counts_samples(run: Execution, value: Value) -> bool:
    """Whether the size of a batch has a part in a length, so that it may count samples as well."""
    return any(
        isinstance(one, Applied) and one.callee == "*" and any(is_batch_size(run, arg) for arg in one.args)
        for one in ancestry(run, value)
    )


def _site_of_count(run: Execution, value: Value) -> Site | None:
    """Where the count was made of the batches of an epoch."""
    made = (one for one in ancestry(run, value) if isinstance(one, Applied) and one.callee == "*")
    return next((one.site for one in made if any(counts_batches(run, arg) for arg in one.args)), None)


def _is_rate(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
    )


def _is_scaled(run: Execution, division: Applied) -> bool:
    """Whether it is the batches of an epoch that something is divided by, or an epoch by a share of them."""
    above, below = division.args
    if counts_batches(run, below):
        return True
    whole = ancestry(run, above, lambda value: is_length_in_batches(run, value))
    made = [value for value in whole if isinstance(value, Applied) and not is_length_in_batches(run, value)]
    return any(value.callee in {"/", "//", "%"} for value in made)


def followed(run: Execution, function: Value | None, count: Leaf | Constant) -> Value | None:
    """What a function of one number gives for it, with the walk left as it was."""
    events, scope, steps = len(run.events), run.scope, run.steps
    try:
        match function:
            case LambdaValue():
                return run.follow_lambda(function, [count], {})
            case FunctionValue():
                return run.follow(function, [count], {})
            case PartialValue(callee=FunctionValue() as callee, args=args, keywords=keywords):
                return run.follow(callee, [*args, count], keywords)
    except (Exhausted, RecursionError):
        return None
    finally:
        del run.events[events:]
        run.scope, run.steps = scope, steps
    return None


def _divisions(run: Execution, value: Value | None) -> Iterator[Applied]:
    for one in ancestry(run, value):
        if isinstance(one, Applied) and one.callee in {"/", "//"} and len(one.args) == 2:
            yield one


def _holds(run: Execution, value: Value, count: Leaf, depth: int = DEEPEST) -> bool:
    """Whether a value is the count itself, moved or bounded and in its own unit."""
    value = quietly(run, value)
    if value is count:
        return True
    if depth == 0:
        return False
    match value:
        case Applied(callee=callee, args=args) if callee in _KEEPS_UNIT or (
            callee == "*" and _is_by_plain_number(value)
        ):
            return any(_holds(run, arg, count, depth - 1) for arg in args)
        case Choice(options=options):
            return any(_holds(run, option, count, depth - 1) for option in options)
    return False


def _is_by_plain_number(product: Applied) -> bool:
    """Whether one factor of a product is a number that is written out, or pi; others change the unit."""
    node = product.site.node
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(
        isinstance(side, ast.Constant) or getattr(side, "attr", getattr(side, "id", "")) == "pi"
        for side in sides
    )
