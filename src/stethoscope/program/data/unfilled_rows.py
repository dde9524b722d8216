"""Memories of a fixed size that are drawn from as a whole, although only a part of them is filled.

self.obs = np.zeros((capacity, *shape)); self.size = 0        made empty, and counted
index = np.random.randint(0, self.capacity, size=n)           drawn from all of it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

EMPTY = frozenset({"zeros", "empty", "full"})
ELSE = frozenset({"device", "dtype", "requires_grad", "generator", "out", "pin_memory"})
DRAWING = frozenset(
    {"randint", "integers", "choice", "sample", "randperm", "randrange", "permutation", "choices"}
)


@dataclass(frozen=True, slots=True, eq=False)
class UnfilledRows:
    """Where rows are drawn, and the bound that holds rows that nobody has filled."""

    drawn: Site
    bound: str


@remembered
def unfilled_rows(index: Index) -> tuple[UnfilledRows, ...]:
    """Every draw over the whole of a memory that a method fills row by row."""
    return tuple(found for cls in index.classes if not is_test(cls.source) for found in _of_class(index, cls))


def _of_class(index: Index, cls: Class) -> Iterator[UnfilledRows]:
    init = cls.methods.get("__init__")
    if init is None:
        return
    bounds, counts = _bounds(init), _counts(cls)
    if not bounds or not counts:
        return
    for method in cls.methods.values():
        if method.name == "__init__" or _asks_for_fill(method, counts):
            continue
        for call in own_nodes(method.node, ast.Call):
            said = {one for part in _drawn_from(call) for one in _attributes(part)}
            if bare_name(call) in DRAWING and said & bounds and not said & counts:
                bound = sorted(said & bounds)[0]
                if not _is_bounded_elsewhere(index, cls, counts):
                    yield UnfilledRows(Site(method.source, call), f"self.{bound}")
                return


def _bounds(init: Function) -> set[str]:
    """The attributes that hold the size that empty arrays are made with."""
    kept = {
        target.attr if isinstance(node.value, ast.Tuple) else ast.unparse(node.value): target.attr
        for node in own_nodes(init.node, ast.Assign)
        for target in _flat(node)
        if isinstance(target, ast.Attribute) and isinstance(node.value, ast.Name | ast.Call | ast.Tuple)
    }
    sized: set[str] = set()
    for call in own_nodes(init.node, ast.Call):
        if bare_name(call) in EMPTY:
            said = [
                text
                for part in _sizes(call)
                for text in (
                    *(one.id for one in all_nodes(part, ast.Name)),
                    *(f"self.{one}" for one in _attributes(part)),
                )
            ]
            sized |= {kept.get(one, "") for one in said} | {
                one.removeprefix("self.") for one in said if "self." in one
            }
    return {one for one in sized if one and one in {*kept.values()}}


def _flat(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _counts(cls: Class) -> set[str]:
    """The attributes that begin at zero and grow with every row that is put in."""
    init = cls.methods["__init__"]
    begun = {
        target.attr
        for node in own_nodes(init.node, ast.Assign)
        for target in _flat(node)
        if isinstance(target, ast.Attribute) and _is_start(node.value)
    }
    grown: set[str] = set()
    for method in cls.methods.values():
        if method.name == "__init__":
            continue
        targets = [one.target for one in own_nodes(method.node, ast.AugAssign)]
        given = [one for node in own_nodes(method.node, ast.Assign) for one in _flat(node)]
        grown |= {one.attr for one in (*targets, *given) if isinstance(one, ast.Attribute)}
    return begun & grown


def _is_start(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple):
        return any(map(_is_start, value.elts))
    return isinstance(value, ast.Constant) and value.value in (0, False)


def _attributes(node: ast.AST) -> set[str]:
    return {
        one.attr
        for one in all_nodes(node, ast.Attribute)
        if isinstance(one.value, ast.Name) and one.value.id == "self"
    }


def _sizes(call: ast.Call) -> list[ast.expr]:
    """What a call is told of how much there is: no device and no type."""
    return [*call.args, *(word.value for word in call.keywords if word.arg not in ELSE)]


def _drawn_from(call: ast.Call) -> list[ast.expr]:
    """What a call draws from: of `choice([True, False], p=[self.share, ...])` no rows of anything."""
    first = call.args[0] if call.args else None
    is_written_out = isinstance(first, ast.List | ast.Tuple) and not any(map(_attributes, first.elts))
    return [first] if first is not None and is_written_out else [call.func, *_sizes(call)]


def _asks_for_fill(method: Function, counts: set[str]) -> bool:
    """Whether a method looks at how much is filled: `high = self.capacity if self.full else self.ptr`."""
    return bool(_attributes(method.node) & counts)


def _is_bounded_elsewhere(index: Index, cls: Class, counts: set[str]) -> bool:
    """Whether the object says when it is full, and somebody else asks for it, who may wait for that."""
    names = {"full", "is_full", "ready", "is_ready", "can_sample"} & {*cls.methods, *counts}
    own = {id(node) for node in all_nodes(cls.node, ast.Attribute)}
    return any(
        node.attr in names and id(node) not in own
        for module in (index.modules.values() if names else ())
        for node in all_nodes(module.source.tree, ast.Attribute)
    )
