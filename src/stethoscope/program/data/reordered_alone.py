"""Inputs that are put into another order while the labels that belong to them stay as they lie.

features = table.drop(columns=["churn"]).sort_values("day"); labels = table["churn"]     a table
order = np.argsort(times); x = x[order]                 and nothing picks `y` by `order`
np.random.shuffle(x_train)                              and nothing mixes `y_train`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.data.parted_pairs import PartedPair, are_pair, in_place_orders
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SORTING = frozenset({"sort_values", "sort_index", "sample"})
# What brings labels into the order of the inputs after all.
REALIGNING = ("reindex", ".index", "merge", "join(", "zip(")


@remembered
def reordered_alone(index: Index) -> tuple[PartedPair, ...]:
    """Every input of a body of code that is sorted or mixed without its labels."""
    found: list[PartedPair] = []
    for function in index.bodies:
        if not is_test(function.source):
            found.extend(_tables(function))
            found.extend(_arrays(function))
    return tuple(found)


# --- tables


def _tables(function: Function) -> Iterator[PartedPair]:
    """`table.drop(columns=["y"]).sort_values(...)` beside `table["y"]`, neither brought to the other."""
    assigned = sorted(own_nodes(function.node, ast.Assign), key=lambda node: node.lineno)
    sorted_parts = [(node, *part) for node in assigned if (part := _sorted_part(node.value)) is not None]
    for node, table, dropped in sorted_parts:
        features = dotted(node.targets[0]) or ""
        for other in assigned:
            column = _column_of(other.value, table)
            if column is None or column not in dropped:
                continue
            between = [one for one in assigned if _stores(one, table) and _lies_between(one, node, other)]
            text = ast.unparse(other)
            if not between and not any(word in text for word in REALIGNING) and not _is_sorted(other.value):
                labels = dotted(other.targets[0]) or column
                if not _is_realigned(assigned, labels, features):
                    yield _pair(function, node, other, features, labels)
                    return


def _pair(function: Function, one: ast.AST, other: ast.AST, first: str, second: str) -> PartedPair:
    return PartedPair(Site(function.source, one), Site(function.source, other), (first, second))


def _sorted_part(value: ast.expr) -> tuple[str, set[str]] | None:
    """The table and the columns that a chain of methods leaves out and whose rows it reorders."""
    dropped: set[str] = set()
    is_sorted = False
    node = value
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute):
            node = node.value
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        is_sorted = is_sorted or (name in SORTING and _keeps_all(node))
        if name == "drop":
            dropped |= _texts(node)
        node = node.func
    return (node.id, dropped) if isinstance(node, ast.Name) and is_sorted and dropped else None


def _keeps_all(call: ast.Call) -> bool:
    """Whether a call only reorders rows: `sample(frac=1)` does, `sample(100)` is a choice."""
    if getattr(call.func, "attr", "") != "sample":
        return not any(word.arg == "inplace" for word in call.keywords)
    told = {word.arg: word.value for word in call.keywords}
    frac = told.get("frac")
    is_all = isinstance(frac, ast.Constant) and frac.value in (1, 1.0)
    return is_all and "random_state" not in told


def _texts(call: ast.Call) -> set[str]:
    return {one.value for one in all_nodes(call, ast.Constant) if isinstance(one.value, str)}


def _column_of(value: ast.expr, table: str) -> str | None:
    """The column in `table["y"].to_numpy()` and `table.y.values`."""
    node = value
    while True:
        match node:
            case ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=str() as column)):
                return column if found == table else None
            case ast.Attribute(value=ast.Name(id=found), attr=column) if found == table:
                return column
            case ast.Call(func=ast.Attribute(value=inner)) | ast.Attribute(value=inner):
                node = inner
            case _:
                return None


def _is_sorted(value: ast.expr) -> bool:
    return any(getattr(call.func, "attr", "") in SORTING for call in all_nodes(value, ast.Call))


def _stores(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _lies_between(node: ast.AST, one: ast.AST, other: ast.AST) -> bool:
    lines = sorted((_line(one), _line(other)))
    return lines[0] < _line(node) < lines[1]


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _is_realigned(assigned: Sequence[ast.Assign], labels: str, features: str) -> bool:
    """`labels = labels.loc[features.index]`."""
    for node in assigned:
        text = ast.unparse(node.value)
        if dotted(node.targets[0]) == labels and (f"{features}.index" in text or "reindex" in text):
            return True
    return False


# --- arrays


def _arrays(function: Function) -> Iterator[PartedPair]:
    """`x = x[order]` where the body has `y` as well and leaves it as it lies."""
    moved = list(in_place_orders(function))
    if not moved:
        return
    names = [*_kept_names(function), *function.parameters, *_kept_by_object(function)]
    changed = {name for name, _ in moved}
    for name, node in moved:
        partners = [other for other in names if are_pair(name, other)]
        if any(other in changed or _is_picked(function, other, node) for other in partners):
            continue
        if any(_is_given_alike(function, other, node) for other in partners):
            continue
        for other in partners:
            if _is_read_behind(function, other, node) or _is_read_elsewhere(function, other):
                yield _pair(function, node, node, name, other)
                return


def _is_given_alike(function: Function, name: str, moved: ast.AST) -> bool:
    """`self.x = x[order]`, beside `self.y = self.y[order]`."""
    by = getattr(getattr(moved, "value", None), "slice", None)
    given = [one for one in own_nodes(function.node, ast.Assign) if name in map(dotted, one.targets)]
    picked = (one.value.slice for one in given if isinstance(one.value, ast.Subscript))
    return by is not None and any(ast.unparse(one) == ast.unparse(by) for one in picked)


def _kept_names(function: Function) -> list[str]:
    found: list[str] = []
    for node in own_nodes(function.node, ast.Assign):
        for target in node.targets:
            elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            found += [name for one in elements if (name := dotted(one))]
    return found


def _kept_by_object(function: Function) -> list[str]:
    """What an object keeps from its making on, where no other method gives it a new value."""
    init = _init_of(function)
    if init is None or function.owner is None or init is function:
        return []
    others = [one for one in function.owner.methods.values() if one is not init]
    changed = {name for one in others for name in _kept_names(one)}
    return [name for name in _kept_names(init) if name.startswith("self.") and name not in changed]


def _is_read_elsewhere(function: Function, name: str) -> bool:
    """Whether another method takes what an object keeps by the places in which it lies."""
    if function.owner is None or not name.startswith("self."):
        return False
    others = [one for one in function.owner.methods.values() if one not in (function, _init_of(function))]
    subscripts = [node for one in others for node in own_nodes(one.node, ast.Subscript)]
    return any(dotted(node.value) == name for node in subscripts)


def _init_of(function: Function) -> Function | None:
    """The method that makes the object that a method belongs to."""
    return function.owner.methods.get("__init__") if function.owner is not None else None


def _is_picked(function: Function, name: str, moved: ast.AST) -> bool:
    """Whether something else is done to a name behind a move: picked, mixed, or given a new value."""
    for node in own_nodes(function.node):
        if _line(node) < _line(moved):
            continue
        match node:
            case ast.Subscript(value=base, slice=part) if dotted(base) == name:
                if not isinstance(part, ast.Slice | ast.Constant):
                    return True
            case ast.Assign(targets=targets):
                stored = [one for target in targets for one in all_nodes(target)]
                if any(dotted(one) == name for one in stored):
                    return True
            case ast.Call(args=args) if getattr(node.func, "attr", getattr(node.func, "id", "")) in {
                "shuffle",
                "take",
                "index_select",
                "gather",
                "take_along_axis",
            }:
                if any(dotted(one) == name for one in args):
                    return True
    return False


def _is_read_behind(function: Function, name: str, moved: ast.AST) -> bool:
    return any(
        dotted(node) == name
        and isinstance(getattr(node, "ctx", None), ast.Load)
        and _line(node) > _line(moved)
        for node in own_nodes(function.node, ast.Name, ast.Attribute)
    )
