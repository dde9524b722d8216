"""Columns of one batch of samples that a function gives back in different orders.

    def collate(batch):                                       x, y = zip(*batch)
        x = sorted((a for a, _ in batch), key=len)            lengths, order = lengths.sort()
        y = [b for _, b in batch]                             return x[order], lengths, y
        return pad(x), torch.tensor(y)

Rows that one column leaves out and the other keeps part them just so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from stethoscope.program.data.parted_pairs import PartedPair
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# Calls that give as many rows as they get, in the same order.
KEEPING = frozenset({
    "tensor", "as_tensor", "stack", "pad_sequence", "list", "tuple", "array", "asarray", "from_numpy",
    "LongTensor", "FloatTensor", "IntTensor", "Tensor", "float", "long", "int", "to", "half", "bool",
    "contiguous", "clone", "pad", "unsqueeze", "squeeze", "numpy", "cpu", "cuda",
})  # fmt: skip
ORDERING = frozenset({"argsort", "sort", "randperm", "permutation", "lexsort", "topk"})
LIES = ""  # the order in which the rows of a batch lie


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the rows that a name held at one time, and the order into which they were put."""

    rows: str
    order: str
    node: ast.AST


@dataclass(slots=True)
class _Body:
    """What is known at a place of a function: its columns, its orders, and how often rows were replaced."""

    columns: dict[str, _Column] = field(default_factory=dict)
    orders: set[str] = field(default_factory=set)
    version: dict[str, int] = field(default_factory=dict)


@remembered
def columns_apart(index: Index) -> tuple[PartedPair, ...]:
    """Every batch that a function gives back with its columns in different orders."""
    return tuple(
        pair
        for function in index.functions
        if not is_test(function.source)
        for pair in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[PartedPair]:
    made: set[type[ast.AST]] = {type(node) for node in own_nodes(function.node)}
    if ast.Return not in made or not made & {ast.ListComp, ast.GeneratorExp, ast.Starred}:
        return
    body = _Body()
    for statement in function.node.body:
        if isinstance(statement, ast.Assign):
            _assign(body, statement)
        elif isinstance(statement, ast.Expr):
            _sorted_in_place(body, statement)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            yield from _parted(function, body, statement.value)
        else:
            _forget(body, statement)


def _assign(body: _Body, statement: ast.Assign) -> None:
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple):
        names = [one.id if isinstance(one, ast.Name) else "_" for one in target.elts]
        _unpack(body, names, value)
        return
    if not isinstance(target, ast.Name):
        return
    column = _column(body, value)
    body.version[target.id] = body.version.get(target.id, 0) + 1
    body.columns.pop(target.id, None)
    if column is not None:
        body.columns[target.id] = column
    if isinstance(value, ast.Call) and bare_name(value) in ORDERING:
        body.orders.add(target.id)


def _unpack(body: _Body, names: list[str], value: ast.expr) -> None:
    """`x, y = zip(*batch)` and `lengths, order = lengths.sort()`."""
    match value:
        case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=ast.Name(id=rows))]):
            for name in names:
                body.columns[name] = _Column(_version(body, rows), LIES, value)
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="list" | "tuple"), ast.Call() as inner]):
            _unpack(body, names, inner)
        case ast.Call() if bare_name(value) in {"sort", "topk"} and len(names) == 2:
            column = _received(body, value)
            body.orders.add(names[1])
            body.columns.pop(names[0], None)
            if column is not None:
                body.columns[names[0]] = _Column(column.rows, names[1], value)
        case _:
            for name in names:
                body.columns.pop(name, None)


def _received(body: _Body, call: ast.Call) -> _Column | None:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is not None and (found := _column(body, receiver)) is not None:
        return found
    return _column(body, call.args[0]) if call.args else None


def _sorted_in_place(body: _Body, statement: ast.Expr) -> None:
    match statement.value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sort" | "reverse")):
            column = body.columns.get(name)
            if column is not None:
                body.columns[name] = _Column(column.rows, f"sorted at {statement.lineno}", statement)
            body.version[name] = body.version.get(name, 0) + 1


def _forget(body: _Body, statement: ast.stmt) -> None:
    for node in all_nodes(statement, ast.Name):
        if isinstance(node.ctx, ast.Store):
            body.columns.pop(node.id, None)
            body.version[node.id] = body.version.get(node.id, 0) + 1


def _version(body: _Body, rows: str) -> str:
    return f"{rows}/{body.version.get(rows, 0)}"


def _column(body: _Body, value: ast.expr) -> _Column | None:
    """The column that an expression gives, or None where it is none, or of which that is not known."""
    match value:
        case ast.Name(id=name):
            return body.columns.get(name)
        case ast.ListComp(elt=element, generators=[loop]) | ast.GeneratorExp(elt=element, generators=[loop]):
            return _of_rows(body, element, loop, value)
        case ast.Subscript(value=inner, slice=ast.Name(id=order)) if order in body.orders:
            column = _column(body, inner)
            return _Column(column.rows, f"{column.order}[{order}]", value) if column else None
        case ast.Call(func=ast.Name(id="sorted"), args=[inner, *_]):
            column = _column(body, inner)
            return _Column(column.rows, f"sorted at {value.lineno}", value) if column else None
        case ast.Call() if bare_name(value) in KEEPING:
            return _received(body, value)
    return None


def _of_rows(body: _Body, element: ast.expr, loop: ast.comprehension, value: ast.expr) -> _Column | None:
    """`[a for a, _ in batch]`, `[row[0] for row in batch]`, `[len(x) for x in xs]`."""
    order = " and ".join(map(ast.unparse, loop.ifs))
    if not isinstance(loop.iter, ast.Name):
        return None
    known = body.columns.get(loop.iter.id)
    if known is not None:
        return _Column(known.rows, f"{known.order}{order}", value)
    targets = {one.id for one in all_nodes(loop.target, ast.Name)}
    is_taken = isinstance(loop.target, ast.Tuple) or any(
        isinstance(one, ast.Subscript | ast.Attribute) and dotted(one.value) in targets
        for one in all_nodes(element)
    )
    return _Column(_version(body, loop.iter.id), order, value) if is_taken else None


def _parted(function: Function, body: _Body, value: ast.expr) -> Iterator[PartedPair]:
    """Two columns of the same rows, one as they lie and one in another order, in what is given back."""
    if isinstance(value, ast.Tuple):
        given = value.elts
    elif isinstance(value, ast.Dict):
        given = value.values
    elif isinstance(value, ast.Call):
        given = [*value.args, *(word.value for word in value.keywords)]
    else:
        return
    if any(isinstance(one, ast.Name) and one.id in body.orders for one in given):
        return  # whoever gets the order may put the rest into it
    columns = [(one, column) for one in given if (column := _column(body, one)) is not None]
    for one, column in columns:
        for other, lying in columns:
            if column.rows == lying.rows and column.order != LIES and lying.order == LIES:
                names = (_short(one), _short(other))
                yield PartedPair(Site(function.source, column.node), Site(function.source, lying.node), names)
                return


def _short(node: ast.expr) -> str:
    return _short(node.args[0]) if isinstance(node, ast.Call) and node.args else ast.unparse(node)[:40]
