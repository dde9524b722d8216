"""Tables whose column of answers stays among the columns that are made inputs.

y = table["price"].to_numpy()
x = table.drop(columns=["id"]).to_numpy()        `price` is still there
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# Where the past of the answers is a rightful input, or the inputs are the answers, nothing is said.
MEANT = re.compile(
    r"(?i)window|look_?back|horizon|seq_?len|shift\(|unfold|\[\s*\w+\s*:\s*\w+\s*\+|recon|auto_?enc|\bvae"
    r"|imput|anomal|lstm|\brnn|\bgru\b|forecast|denois|np\.delete|column_?transformer|lag"
)
# What makes an array of a table, and what changes its kind alone.
MAKING_ARRAYS = frozenset({"to_numpy", "array", "asarray", "tensor", "FloatTensor", "from_numpy", "values"})
CHANGING_KIND = MAKING_ARRAYS | {"astype", "float", "long", "tolist", "copy", "double"}
KEEPING_COLUMNS = frozenset({"sort_values", "reset_index", "dropna", "fillna", "copy", "sample", "query"})
TELLING = frozenset({"print", "info", "debug", "format", "len"})


@dataclass(frozen=True, slots=True, eq=False)
class AnswerColumn:
    """The column, where it is read as the answer, and where the inputs are made with it."""

    column: str
    answer: Site
    inputs: Site


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What of a table an expression holds: one column, or all but some."""

    table: str
    one: str = ""
    dropped: frozenset[str] = frozenset()


@remembered
def answer_columns(index: Index) -> tuple[AnswerColumn, ...]:
    """Every table whose answers are given to the network as well."""
    sources = [module.source for module in index.modules.values() if not is_test(module.source)]
    if not any("pandas" in one.text or "polars" in one.text for one in sources):
        return ()
    if any(MEANT.search(one.text) for one in sources):
        return ()
    return tuple(
        found for function in index.bodies if not is_test(function.source) for found in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[AnswerColumn]:
    home = function.source
    for pair in _handed_on(function):
        parts = [made for one in pair for made in _made(function, one)]
        for answer, column in parts:
            for inputs, columns in parts if column.one else ():
                if columns.one or columns.table != column.table or column.one in columns.dropped:
                    continue
                dropped = _dropped_between(function, answer, inputs, column.table)
                if dropped is None or column.one in dropped or _is_written(function, column):
                    continue
                yield AnswerColumn(column.one, Site(home, answer), Site(home, inputs))
                return


def _handed_on(function: Function) -> Iterator[list[ast.expr]]:
    """What is handed on together: in one call, or returned as a tuple."""
    for call in own_nodes(function.node, ast.Call):
        if bare_name(call) not in TELLING:
            yield [*call.args, *(word.value for word in call.keywords)]
    for returned in own_nodes(function.node, ast.Return):
        if isinstance(returned.value, ast.Tuple):
            yield returned.value.elts


def _made(function: Function, handed: ast.expr) -> Iterator[tuple[ast.expr, _Columns]]:
    """What of a table an array holds that is handed on as it is, by a name, or in rows."""
    columns = _columns(handed)
    if columns is not None:
        yield handed, columns
        return
    for name in _held(handed):
        parts = [one for one in own_nodes(function.node, ast.Subscript) if dotted(one.value) == name]
        if any(not isinstance(one.slice, ast.Slice | ast.Name) for one in parts):
            continue  # `x[:, 1:]` takes columns away
        for node in own_nodes(function.node, ast.Assign):
            columns = _columns(node.value) if dotted(node.targets[0]) == name else None
            if columns is not None:
                yield node.value, columns


def _held(node: ast.expr) -> Iterator[str]:
    """The arrays that an argument is, or is made of: `torch.tensor(x[:cut])`."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=inner):
            yield from _held(inner)
        case ast.Call(func=func, args=args):
            for one in (*args, *([func.value] if isinstance(func, ast.Attribute) else [])):
                yield from _held(one)


def _columns(value: ast.expr) -> _Columns | None:
    """What of a table an array is made of; None where it is not surely an array of a table."""
    is_array = False
    while True:
        match value:
            case ast.Attribute(value=inner, attr="values"):
                is_array = True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="np" | "numpy" | "torch"), attr=name), args=[inner, *_]
            ):
                if name not in MAKING_ARRAYS:
                    return None
                is_array = True
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in CHANGING_KIND:
                is_array = is_array or name in MAKING_ARRAYS
            case _:
                return _of_table(value) if is_array else None
        value = inner


def _of_table(value: ast.expr) -> _Columns | None:
    match value:
        case ast.Name(id=table):
            return _Columns(table)
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Constant(value=str() as column)):
            return _Columns(table, column)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=table), attr="drop")):
            dropped = _dropped(value)
            return _Columns(table, dropped=dropped) if dropped is not None else None
    return None


def _dropped(call: ast.Call) -> frozenset[str] | None:
    """The columns that `drop` takes away; None where they are not written down."""
    named = {word.arg: word.value for word in call.keywords}
    given = named.get("columns")
    if given is None and call.args and isinstance(named.get("axis"), ast.Constant):
        given = call.args[0]
    listed = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    names = [one.value for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return frozenset(names) if len(names) == len(listed) else None


def _dropped_between(
    function: Function, answer: ast.expr, inputs: ast.expr, table: str
) -> frozenset[str] | None:
    """The columns that a table loses from the first of two statements to the other; None if not known."""
    first, last = sorted((answer.lineno, inputs.lineno))
    dropped: set[str] = set()
    for node in own_nodes(function.node, ast.Assign, ast.Delete, ast.Call, ast.AugAssign):
        if not first <= getattr(node, "lineno", 0) <= last:
            continue
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == table:
                lost = _lost(value, table)
                if lost is None:
                    return None
                dropped |= lost
            case ast.Delete(targets=targets) if any(_is_of(one, table) for one in targets):
                return None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop")) if name == table:
                return None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="drop")) if name == table and any(
                word.arg == "inplace" for word in node.keywords
            ):
                return None
    return frozenset(dropped)


def _lost(value: ast.expr, table: str) -> frozenset[str] | None:
    """The columns that a chain of calls on a table takes away."""
    lost: frozenset[str] = frozenset()
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        dropped = _dropped(value) if value.func.attr == "drop" else frozenset[str]()
        if dropped is None or value.func.attr not in KEEPING_COLUMNS | {"drop"}:
            return None
        lost |= dropped
        value = value.func.value
    return lost if isinstance(value, ast.Name) and value.id == table else None


def _is_of(node: ast.AST, table: str) -> bool:
    return any(one.id == table for one in all_nodes(node, ast.Name))


def _is_written(function: Function, column: _Columns) -> bool:
    """Whether the column of answers is given other numbers somewhere."""
    return any(
        _is_of(target.value, column.table) and column.one in ast.unparse(target)
        for node in own_nodes(function.node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    )
