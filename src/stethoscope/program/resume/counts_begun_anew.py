"""Rates that follow a count which a checkpoint holds and a resume leaves there: the schedule begins again.

for step in range(total):                       torch.save({"model": ..., "step": step}, path)
    for group in optimizer.param_groups:        state = torch.load(path)     # state["step"]: nowhere
        group["lr"] = rate(step)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.resume.checkpointing import Resumption
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.values import Site


@dataclass(frozen=True, slots=True, eq=False)
class CountBegunAnew:
    """A loop that counts from its start, the rate that follows, and the entry that is saved for nothing."""

    loop: Site
    rate: Site
    saved: Site
    key: str


def counts_begun_anew(index: Index, resumption: Resumption) -> Iterator[CountBegunAnew]:
    """The counts that a resume leaves in its checkpoint, where the rate is computed from them."""
    if resumption.counter is not None:
        return
    function = resumption.weights.within[-1] if resumption.weights.within else None
    for body in [function] if function is not None else index.bodies:
        for loop in own_nodes(body.node, ast.For):
            counted = _counted_from_start(body, loop)
            rate = _rate_of(loop, counted) if counted else None
            saved = _saved(index, body, counted) if rate is not None else None
            if rate is not None and saved is not None and not _is_read(index, saved[1]):
                source = body.source
                yield CountBegunAnew(
                    Site(source, loop.iter), Site(source, rate), Site(source, saved[0]), saved[1]
                )


def _counted_from_start(body: Function, loop: ast.For) -> str:
    """The variable of `for step in range(total)`; empty where the loop may begin elsewhere."""
    match loop:
        case ast.For(
            target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[begin, *others])
        ):
            return name if not others or _is_number(body, begin) else ""
    return ""


def _is_number(body: Function, node: ast.expr) -> bool:
    """Whether a start is a number, or a variable that is given numbers alone."""
    if isinstance(node, ast.Constant):
        return True
    given = [value for name, value in _assigned(body) if isinstance(node, ast.Name) and name == node.id]
    return bool(given) and all(isinstance(value, ast.Constant) for value in given)


def _assigned(body: Function) -> Iterator[tuple[str, ast.expr]]:
    """What the variables of a function are given, pairs of tuples one by one."""
    for one in own_nodes(body.node):
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                pairs = [(target, value) for target in targets]
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.AugAssign(target=target, value=value):
                pairs = [(target, ast.BinOp(target, one.op, value))]
            case _:
                continue
        yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))


def _rate_of(loop: ast.For, counted: str) -> ast.expr | None:
    """What is written to `group["lr"]` and made of the count."""
    for node in all_nodes(loop, ast.Assign):
        match node.targets[0]:
            case ast.Subscript(slice=ast.Constant(value="lr")) if counted in _names(node.value):
                return node.value
    return None


def _saved(index: Index, body: Function, counted: str) -> tuple[ast.expr, str] | None:
    """The entry of a table for a file that holds the count, and its key."""
    for node in own_nodes(body.node):
        if isinstance(node, ast.Dict):
            pairs = [
                (str(k.value), v)
                for k, v in zip(node.keys, node.values, strict=True)
                if isinstance(k, ast.Constant)
            ]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            pairs = [(word.arg, word.value) for word in node.keywords if word.arg is not None]
        else:
            continue
        holds_state = any("state_dict" in ast.unparse(value) for _, value in pairs)
        for key, value in pairs if holds_state else ():
            if _names(value) == {counted}:
                return value, key
    return None


def _is_read(index: Index, key: str) -> bool:
    """Whether anything takes an entry of this name out of a table, or goes through the tables whole."""
    for source in index.program:
        if key not in source.text:
            continue
        called = {id(call.func) for call in all_nodes(source.tree, ast.Call)}  # `optimizer.step()`
        for node in all_nodes(source.tree):
            match node:
                case ast.Subscript(slice=ast.Constant(value=value), ctx=ast.Load()) if value == key:
                    return True
                case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=value), *_]):
                    if value == key:
                        return True
                case ast.Attribute(attr=name) if name == key and id(node) not in called:
                    return True
                case ast.Constant(value=value) if value == key and not _is_key_of_table(source.tree, node):
                    return True
    return False


def _is_key_of_table(tree: ast.AST, node: ast.AST) -> bool:
    return any(one is node for table in all_nodes(tree, ast.Dict) for one in table.keys)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in all_nodes(node, ast.Name)}
