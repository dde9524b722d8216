"""The body of the loop that trains, in a function of its own."""

from __future__ import annotations

import ast
import builtins

ENDS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global, ast.Await)
STEP = "one_update"


def rewrite(tree: ast.Module) -> ast.Module:
    """Move the innermost loop that calls backward into a function, if nothing leaves it on the way."""
    for owner in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(owner, field, None)
            if not isinstance(statements, list):
                continue
            for loop in statements:
                if (
                    isinstance(loop, ast.For)
                    and _trains(loop)
                    and not any(isinstance(n, ENDS) for s in loop.body for n in ast.walk(s))
                ):
                    return _moved(tree, loop)
    return tree


def _trains(loop: ast.For) -> bool:
    inner = [node for statement in loop.body for node in ast.walk(statement)]
    has_backward = any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in inner)
    return has_backward and not any(isinstance(n, ast.For | ast.While) and _has_backward(n) for n in inner)


def _has_backward(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(node))


def _moved(tree: ast.Module, loop: ast.For) -> ast.Module:
    reads, writes = _names(loop.body)
    known = _global_names(tree) | set(dir(builtins))
    given = sorted((reads - known) | (writes & _names_outside(tree, loop) - known))
    given = [name for name in given if name in reads or name in writes]
    read_before = [name for name in given if name in reads or name in writes]
    returned = sorted(writes & (_names_outside(tree, loop) | set(read_before)))
    returned = [name for name in returned if name in _names_outside(tree, loop)]
    arguments = [name for name in read_before if name in reads]
    body = list(loop.body)
    if returned:
        body.append(ast.Return(_pack(returned, ast.Load())))
    function = ast.FunctionDef(
        STEP,
        ast.arguments([], [ast.arg(name) for name in arguments], None, [], [], None, []),
        body,
        [],
        None,
        type_params=[],
    )
    call = ast.Call(ast.Name(STEP, ast.Load()), [ast.Name(name, ast.Load()) for name in arguments], [])
    loop.body = [ast.Assign([_pack(returned, ast.Store())], call) if returned else ast.Expr(call)]
    place = next((i for i, node in enumerate(tree.body) if any(n is loop for n in ast.walk(node))), 0)
    tree.body.insert(place, function)
    return tree


def _pack(names: list[str], context: ast.expr_context) -> ast.expr:
    parts = [ast.Name(name, context) for name in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)


def _names(statements: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """What is read before it is written here (or at all, if in doubt), and what is written."""
    written: set[str] = set()
    read: set[str] = set()
    for statement in statements:
        local = {
            target.id
            for node in ast.walk(statement)
            if isinstance(node, ast.comprehension)
            for target in ast.walk(node.target)
            if isinstance(target, ast.Name)
        } | {
            arg.arg for node in ast.walk(statement) if isinstance(node, ast.Lambda) for arg in node.args.args
        }
        loads = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        stores = {
            n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            loads.add(statement.target.id)
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                loads.add(node.target.id)
        read |= loads - written - local
        written |= stores - local
    return read, written


def _names_outside(tree: ast.Module, loop: ast.For) -> set[str]:
    inside = {id(node) for statement in loop.body for node in ast.walk(statement)}
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
    }


def _global_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
            case _:
                pass
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return names
