"""The `(x - mean) / deviation` on the way of an item, and whose statistics it goes by."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Items,
    LambdaValue,
    Leaf,
    Part,
    Site,
    Value,
)

STATISTICS = frozenset({"mean", "nanmean", "median", "min", "amin", "std", "var", "max", "amax", "std_mean"})
READING = frozenset({"read_image", "imread", "open", "load", "read", "loadtxt", "read_csv", "decode_image"})
SAME_DEPTH = 6


class Kind(StrEnum):
    """Whose statistics an item is standardised by."""

    ITEM = "its own"  # one item's
    OWN = "those of its own data set"
    GIVEN = "given ones"


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """One `(x - mean) / deviation` on the way of an item; `numbers` where both are written down.

    `asked` is where the item is handed to the function that does it, None where no function was called.
    """

    value: Applied
    kind: Kind
    numbers: tuple[float, ...] | None
    asked: Site | None = None

    @property
    def site(self) -> Site:
        """Where it is done."""
        return self.value.site


def standardisations(run: Execution, value: Value) -> Iterator[Standardised]:
    """Every step on the way of an item that takes a mean off and divides."""
    asked: list[Delayed] = []
    for one in ingredients(run, value):
        if isinstance(one, Delayed):
            asked.append(one)
        if not isinstance(one, Applied):
            continue
        if one.callee == ".fit_transform" and len(one.args) > 1:
            yield Standardised(one, Kind.OWN, None)
        elif one.callee == ".transform" and len(one.args) > 1:
            yield Standardised(one, Kind.GIVEN, None)
        elif one.callee == "/" and len(one.args) == 2:
            above = peeled(one.args[0])
            if isinstance(above, Applied) and above.callee == "-" and len(above.args) == 2:
                data, mean = above.args
                numbers = _numbers(mean, one.args[1])
                if not isinstance(data, Constant) and not _changes_nothing(numbers):
                    yield Standardised(one, _kind(run, data, mean), numbers, _asked(run, asked, one.site))


def _changes_nothing(numbers: tuple[float, ...] | None) -> bool:
    """`(x - 0) / 1`, as defaults have it."""
    if numbers is None:
        return False
    half = len(numbers) // 2
    return not any(numbers[:half]) and all(one == 1 for one in numbers[half:])


def _asked(run: Execution, calls: Sequence[Delayed], site: Site) -> Site | None:
    """The call, of these, of the function that a place is in; else the only one that the walk met."""
    for call in reversed(calls):
        if _is_in(call.callee, site):
            return call.site
    met = [record.value for record in run.records]
    sites = {
        id(call.site.node): call.site
        for call in met
        if isinstance(call, Delayed) and _is_in(call.callee, site)
    }
    return next(iter(sites.values())) if len(sites) == 1 else None


def _is_in(callee: FunctionValue | LambdaValue, site: Site) -> bool:
    if not isinstance(callee, FunctionValue) or callee.function.source is not site.source:
        return False
    node = callee.function.node
    return node.lineno <= getattr(site.node, "lineno", 0) <= (node.end_lineno or 0)


def _kind(run: Execution, data: Value, mean: Value) -> Kind:
    if any(isinstance(one, Leaf) and one.name in {"index", "samples"} for one in ingredients(run, mean)):
        return Kind.ITEM
    for one in ingredients(run, mean):
        if not (isinstance(one, Applied) and one.callee.rpartition(".")[2] in STATISTICS and one.args):
            continue
        if is_over_items(one) and is_same(peeled_moves(one.args[0]), peeled_moves(data), SAME_DEPTH):
            return Kind.ITEM if _is_read_in_item(run, one) else Kind.OWN
    return Kind.GIVEN


def _is_read_in_item(run: Execution, statistic: Applied) -> bool:
    """Whether a statistic is computed where one item is asked for, of what is read from a file there."""
    reads = [one for one in ingredients(run, statistic) if isinstance(one, Applied) and _reads(one)]
    return bool(reads) and all(_is_in_item(one.site) for one in (statistic, *reads))


def _reads(value: Applied) -> bool:
    return value.callee.rpartition(".")[2] in READING


def _is_in_item(site: Site) -> bool:
    line = getattr(site.node, "lineno", 0)
    return any(
        node.name == "__getitem__" and node.lineno <= line <= (node.end_lineno or 0)
        for node in all_nodes(site.source.tree, ast.FunctionDef)
    )


def statistics_of(run: Execution, scaled: Standardised) -> list[Applied]:
    """The means that an item is standardised by, where they are computed."""
    above = peeled(scaled.value.args[0]) if scaled.value.args else None
    if not (isinstance(above, Applied) and above.callee == "-"):
        return []
    found = (one for one in ingredients(run, above.args[1]) if isinstance(one, Applied))
    return [one for one in found if one.callee.rpartition(".")[2] in STATISTICS]


def is_over_items(statistic: Applied) -> bool:
    """Whether a statistic is taken over the items, the first axis, or over everything."""
    given = statistic.keywords.get("dim", statistic.keywords.get("axis"))
    axis = given if given is not None else statistic.args[1] if len(statistic.args) > 1 else None
    if axis is None:
        return True
    axes = axis.items if isinstance(axis, Items) else [axis]
    return any(isinstance(one, Constant) and one.value == 0 for one in axes)


def peeled_moves(value: Value) -> Value:
    """A value without the conversions around it."""
    while isinstance(value, Applied) and value.args:
        if value.callee.rpartition(".")[2] not in {
            "float",
            "to",
            "astype",
            "from_numpy",
            "tensor",
            "as_tensor",
        }:
            break
        value = value.args[0]
    return value


def is_same(one: Value, other: Value, depth: int) -> bool:
    """Whether two values are computed alike from the same things."""
    if one is other:
        return True
    if depth == 0:
        return False
    match one, other:
        case Constant(value=left), Constant(value=right):
            return type(left) is type(right) and isinstance(left, str | int | float) and left == right
        case Part(base=left_base, key=left_key), Part(base=right_base, key=right_key):
            return left_key == right_key and is_same(left_base, right_base, depth - 1)
        case Applied(), Applied():
            return (
                one.callee == other.callee
                and len(one.args) == len(other.args)
                and all(is_same(a, b, depth - 1) for a, b in zip(one.args, other.args, strict=True))
            )
    return False


def _numbers(mean: Value, deviation: Value) -> tuple[float, ...] | None:
    first, second = _written(mean), _written(deviation)
    return (*first, *second) if first is not None and second is not None else None


def _written(value: Value) -> tuple[float, ...] | None:
    value = peeled_moves(peeled(value))
    items = value.items if isinstance(value, Items) else [value]
    known = [item.value for item in items if isinstance(item, Constant)]
    if len(known) != len(items) or not all(isinstance(one, int | float) for one in known):
        return None
    return tuple(float(one) for one in known if isinstance(one, int | float))
