"""Optimizers that are made under the name of another: `if name == "adamw": return Adam(...)`.

A name is tied to what is made by a comparison, a case, an entry of a table, a registering decorator, or by
the name of the function that makes it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

KINDS = {
    name.lower(): name
    for name in ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Lion", "LAMB")
}
MAKING = re.compile(r"^(?:build|make|create|get|configure|new|setup|init)_|_(?:optimizer|optim|opt)$")


@dataclass(frozen=True, slots=True, eq=False)
class MisnamedOptimizer:
    """The name that is asked for, the kind that is made, where, and the call where there is one."""

    source: Source
    name: str
    kind: str
    node: ast.expr

    @property
    def decay(self) -> ast.expr | None:
        """The weight decay that it is told."""
        given = self.node.keywords if isinstance(self.node, ast.Call) else []
        return next((word.value for word in given if word.arg == "weight_decay"), None)


@remembered
def misnamed_optimizers(index: Index) -> tuple[MisnamedOptimizer, ...]:
    """Every optimizer that is made where a program asks for another by name."""
    found: list[MisnamedOptimizer] = []
    for module in index.modules.values():
        if is_test(module.source) or not any(kind in module.source.text for kind in KINDS.values()):
            continue
        for name, made in _named(module.source.tree):
            kind = _kind(made)
            if kind and kind != KINDS[name] and not any(one.node is made for one in found):
                found.append(MisnamedOptimizer(module.source, KINDS[name], kind, made))
    return tuple(found)


def _kind(made: ast.expr) -> str:
    """The kind of optimizer that an expression makes, or is the class of."""
    func = made.func if isinstance(made, ast.Call) else made
    name = str(getattr(func, "attr", getattr(func, "id", "")))
    return name if name in KINDS.values() else ""


def _named(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names of optimizers, each with what a program makes for it."""
    for node in all_nodes(tree):
        match node:
            case ast.If(test=test, body=body):
                name = _asked(test)
                if name:
                    yield from ((name, one) for part in body for one in _made_in(part))
            case ast.IfExp(test=test, body=made) if _asked(test):
                yield _asked(test), made
            case ast.match_case(pattern=ast.MatchValue(value=ast.Constant(value=str() as text)), body=body):
                if text.lower() in KINDS:
                    yield from ((text.lower(), one) for part in body for one in _made_in(part))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    name = _text(key)
                    if name:
                        yield name, value.body if isinstance(value, ast.Lambda) else value
            case ast.FunctionDef():
                yield from _by_function(node)


def _asked(test: ast.expr) -> str:
    """The one optimizer that a condition asks for by name."""
    match test:
        case ast.Compare(ops=[ast.Eq()], left=left, comparators=[right]):
            return _text(right) or _text(left)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=names) | ast.List(elts=names)]):
            found = {_text(one) for one in names}
            return found.pop() if len(found) == 1 else ""
    return ""


def _text(node: ast.expr | None) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text.lower() if isinstance(text, str) and text.lower() in KINDS else ""


def _made_in(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a branch makes; what an inner branch makes is that one's."""
    if isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign) and statement.value is not None:
        yield from (one for one in all_nodes(statement.value, ast.Call) if _kind(one))
        if isinstance(statement.value, ast.Name | ast.Attribute):
            yield statement.value


def _by_function(function: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    """A function that is registered under a name, or has it, with what it gives back."""
    registered = (
        _text(given)
        for one in function.decorator_list
        if isinstance(one, ast.Call)
        for given in (*one.args, *(word.value for word in one.keywords))
    )
    called = MAKING.sub("", MAKING.sub("", function.name)).replace("_", "").lower()
    name = next((one for one in registered if one), called if called in KINDS else "")
    returned = [node.value for node in own_nodes(function, ast.Return)]
    made = [one for value in returned if value is not None for one in all_nodes(value, ast.Call)]
    kinds = [one for one in made if bare_name(one) in KINDS.values()]
    if name and len(kinds) == 1:
        yield name, kinds[0]
