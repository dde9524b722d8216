"""What the functions that come with Python give: `sum`, `zip`, `dict`, `range`, `isinstance` and the like."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stethoscope.program.walk.arithmetic import combine
from stethoscope.program.walk.container_methods import spread_into
from stethoscope.program.walk.values import (
    NOTHING,
    Applied,
    ClassValue,
    Constant,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Site,
    Table,
    Value,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

BUILTINS = frozenset(dir(builtins))
LOOP_ROUNDS = 4  # rounds of `for i in range(4)` that are followed one by one
CONCRETE_ROUNDS = 64  # the same in a comprehension, or when computing with numbers
_Builtin = Callable[["Execution", Sequence[Value], Mapping[str, Value], Site], Value | None]


def builtin_call(
    run: Execution, name: str, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    """What a function that comes with Python gives; None where that is not known."""
    builtin = _BUILTIN_CALLS.get(name)
    return builtin(run, args, keywords, site) if builtin else None


def range_elements(args: Sequence[Value], most: int) -> list[Value]:
    """The numbers of a short known range, or one unknown number; `most` of 0 asks for no numbers at all."""
    known = [arg.value for arg in args if isinstance(arg, Constant) and isinstance(arg.value, int)]
    if most and len(known) == len(args) and known and len(range(*known)) <= most:
        return [Constant(number) for number in range(*known)]
    return [Leaf("index")]


def is_instance(run: Execution, value: Value, kind: Value) -> Value:
    """`isinstance(value, kind)`."""
    kinds = kind.items if isinstance(kind, Items) else [kind]
    names = [k.name.rpartition(".")[2] for k in kinds if isinstance(k, Outside)]
    if isinstance(value, Constant):
        own = "Tensor" if isinstance(value.value, np.ndarray) else type(value.value).__name__
        return Constant(own in names)
    if isinstance(value, Instance):
        lineage = run.index.lineage(value.cls)
        if any(isinstance(k, ClassValue) and k.cls in lineage for k in kinds):
            return Constant(True)
    if isinstance(value, Items | Table):
        return Constant(any(name in {"list", "tuple", "dict", "Sequence", "Mapping"} for name in names))
    return Leaf("isinstance")


def _sum(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    elements = run.elements(args[0]) if args else []
    if not elements or isinstance(run.force(args[0]), Leaf | Part | Applied):
        return None
    total = elements[0]
    for element in elements[1:]:
        total = combine("+", total, element, site)
    return total


def _operator(symbol: str) -> _Builtin:
    """`operator.add` and the like."""

    def apply(_: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
        return combine(symbol, args[0], args[1], site) if len(args) == 2 else None

    return apply


def _enumerate(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    elements = run.elements(args[0]) if args else []
    known = isinstance(run.force(args[0]), Items | Constant) if args else False
    return Items([Items([Constant(i) if known else Leaf("index"), e]) for i, e in enumerate(elements)])


def _zip(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    columns = [run.elements(arg) for arg in args]
    known = [len(c) for c, arg in zip(columns, args, strict=True) if isinstance(run.force(arg), Items)]
    rows = min(known) if known else max((len(column) for column in columns), default=0)
    # An unknown partner of a known list gives one unknown element for each.
    padded = [
        column[:rows] if len(column) >= rows else (column or [Leaf("item")])[:1] * rows for column in columns
    ]
    return Items([Items(list(row)) for row in zip(*padded, strict=True)])


def _dict(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    table = Table({})
    spread_into(table, keywords)
    for arg in args:
        source = run.force(arg)
        if isinstance(source, Table):
            table.entries.update(source.entries)
            table.rest.extend(source.rest)
        elif not isinstance(source, Items):
            return source
    return table


def _list(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    if not args:
        return Items([])
    source = run.force(args[0])
    if run.eager and isinstance(source, Applied | Constant) and len(run.elements(source)) > 1:
        return Items(run.elements(source))
    return Items(list(source.items)) if isinstance(source, Items) else source


def _reversed(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    source = run.force(args[0]) if args else None
    if run.eager and isinstance(source, Applied | Constant) and len(run.elements(source)) > 1:
        return Items(run.elements(source)[::-1])
    return Items(source.items[::-1]) if isinstance(source, Items) else source


def _fromkeys(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    value = args[1] if len(args) > 1 else NOTHING
    source = run.force(args[0])
    if isinstance(source, Table):
        return Table(dict.fromkeys(source.entries, value), [value] if source.rest else [])
    return Table({}, [value])


def _tqdm(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    return args[0] if args else keywords.get("iterable")


def _number(function: Callable[[float], float]) -> _Builtin:
    def known(
        run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
    ) -> Value | None:
        if len(args) == 1 and isinstance(args[0], Constant) and isinstance(args[0].value, int | float):
            try:
                return Constant(function(args[0].value))
            except (ValueError, OverflowError):
                return None
        return None

    return known


def _ignored(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    return NOTHING


_BUILTIN_CALLS: dict[str, _Builtin] = {
    "sum": _sum,
    "operator.add": _operator("+"),
    "operator.sub": _operator("-"),
    "operator.mul": _operator("*"),
    "operator.truediv": _operator("/"),
    "enumerate": _enumerate,
    "zip": _zip,
    "dict": _dict,
    "dict.fromkeys": _fromkeys,
    "list": _list,
    "tuple": _list,
    "set": _list,
    "collections.defaultdict": lambda run, args, *_: Table({}, missing=args[0] if args else None),
    "tqdm.tqdm": _tqdm,
    "tqdm.auto.tqdm": _tqdm,
    "tqdm": _tqdm,
    "reversed": _reversed,
    "sorted": _list,
    "iter": _list,
    "abs": _number(abs),
    "float": _number(float),
    "math.log": _number(math.log),
    "math.exp": _number(math.exp),
    "math.sqrt": _number(math.sqrt),
    "print": _ignored,
}
