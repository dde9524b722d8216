"""Names that a file of settings brings in: `lr = table["lr"]` behind `exec(open(path).read())`.

Whoever executes a file of settings, or puts a table of them into globals(), uses names that are assigned
nowhere. Behind such a statement they are taken from the table one by one, as others write it. The statement
itself stays.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from stethoscope.program.spelling.nodes import statements
from stethoscope.program.syntax import children

# What the table may be called: the first that the file does not use for something else.
TABLES = ("settings", "config", "hparams", "options", "flags")
_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__spec__", "__path__"}


def settle_executed_files(tree: ast.Module) -> None:
    """Take the names that nothing else gives from what is executed or put into globals()."""
    for place, statement in enumerate(tree.body):
        brought = _brought(statement)
        if brought is not None:
            wanted = _wanted(tree, place)
            holder = next((name for name in TABLES if name not in _used(tree)), "")
            if wanted and holder:
                tree.body[place + 1 : place + 1] = list(_taken(wanted, brought, holder, statement))
            return


def _brought(statement: ast.stmt) -> ast.expr | None:
    """The table that a statement at the top of a file spreads over its names."""
    match statement:
        case ast.With(body=[inner]) | ast.If(body=[inner], orelse=[]):
            return _brought(inner)
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
            iter=ast.Call(func=ast.Attribute(value=table, attr="items")),
            body=[
                ast.Assign(
                    targets=[
                        ast.Subscript(value=ast.Call(func=ast.Name(id="globals")), slice=ast.Name(id=k))
                    ],
                    value=ast.Name(id=v),
                )
            ],
        ) if (k, v) == (key, value):
            return table
        case ast.Expr(value=ast.Call() as call):
            return _spread(call)
    return None


def _spread(call: ast.Call) -> ast.expr | None:
    match call:
        case ast.Call(func=ast.Name(id="exec"), args=[text] | [text, ast.Call(func=ast.Name(id="globals"))]):
            return _run(_path_in(text))
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals"), args=[]), attr="update"
            ),
            args=[table],
        ):
            return table
    return None


def _path_in(text: ast.expr) -> ast.expr:
    """The path of a file whose text is executed, else the text."""
    match text:
        case ast.Call(func=ast.Name(id="compile"), args=[inner, *_]):
            return _path_in(inner)
        case ast.Call(func=ast.Attribute(value=ast.Call(args=[path, *_]), attr="read" | "read_text")):
            return path
    return text


def _run(path: ast.expr) -> ast.expr:
    """`runpy.run_path(path)`, which gives what the file assigns."""
    function = ast.Attribute(ast.Name("runpy", ast.Load()), "run_path", ast.Load())
    return ast.Call(function, [path], [])


def _taken(names: list[str], table: ast.expr, name_of_table: str, statement: ast.stmt) -> Iterator[ast.stmt]:
    match table:
        case (
            ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=holder)])
            | ast.Attribute(value=ast.Name(id=holder), attr="__dict__")
        ):
            values = [ast.Attribute(ast.Name(holder, ast.Load()), name, ast.Load()) for name in names]
            made: list[ast.stmt] = []
        case _:
            made = [ast.Import([ast.alias("runpy")]), _assigned(name_of_table, table)]
            values = [
                ast.Subscript(ast.Name(name_of_table, ast.Load()), ast.Constant(name), ast.Load())
                for name in names
            ]
    made += [_assigned(name, value) for name, value in zip(names, values, strict=True)]
    for one in made:
        for node in ast.walk(one):
            if not hasattr(node, "lineno"):  # what stands in the file keeps its place
                ast.copy_location(node, statement)
        yield one


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _wanted(tree: ast.Module, place: int) -> list[str]:
    """The names that are read and given nowhere, and those that a plain number replaces afterwards."""
    given = {name for statement in tree.body for name in _given(statement)}
    replaced = {
        target.id
        for statement in tree.body[place + 1 :]
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    before = {name for statement in tree.body[:place] for name in _given(statement)}
    return sorted((set(_free(tree, frozenset())) - given - _KNOWN) | (replaced - before))


def _used(tree: ast.Module) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _given(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a scope, wherever in it; scopes inside it are not entered."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((one.asname or one.name).partition(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name
            case ast.Lambda():
                continue
        waiting += ast.iter_child_nodes(node)


def _free(node: ast.AST, known: frozenset[str]) -> Iterator[str]:
    """The names read at any depth that no scope between here and there gives."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name not in known:
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from _free_in_function(node, known)
            return
        case ast.ClassDef():
            known |= {name for statement in node.body for name in _given(statement)}
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            known |= {one.id for one in ast.walk(node) if _is_stored(one)}
    for child in children(node):
        yield from _free(child, known)


def _free_in_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, known: frozenset[str]
) -> Iterator[str]:
    body: list[ast.stmt] = [] if isinstance(node, ast.Lambda) else node.body
    own = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    own |= {name for statement in body for name in _given(statement)}
    own -= {name for one in statements(node) if isinstance(one, ast.Global) for name in one.names}
    outside: list[ast.AST | None] = [*node.args.defaults, *node.args.kw_defaults]
    outside += [] if isinstance(node, ast.Lambda) else node.decorator_list
    for one in outside:
        if one is not None:
            yield from _free(one, known)
    for inner in body if not isinstance(node, ast.Lambda) else [node.body]:
        yield from _free(inner, known | own)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
