"""What an expression is said to be: its number where that is written somewhere, and the words on the way.

`self.decay` leads to the constructor's argument of that name, that to its default and to what the class is
made with: `Average(net, cfg["ema_decay"])`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.run import Source

DEPTH = 6
# What methods of libraries are called too.
COMMON = frozenset({"update", "step", "get", "add", "apply", "call", "forward", "set", "run", "fit", "load"})
MOST_ORIGINS = 200  # expressions that one is followed back to
MOST_MAKERS = 4  # a class that is made in more places has no one number


@dataclass(frozen=True, slots=True)
class Said:
    """The numbers that an expression may be, and every word of the names that lead to it."""

    numbers: frozenset[float]
    words: frozenset[str]

    @property
    def number(self) -> float | None:
        """The one number that it is."""
        return next(iter(self.numbers)) if len(self.numbers) == 1 else None


def said(index: Index, function: Function, node: ast.expr) -> Said:
    """Follow the names in an expression of a function back to where they are given."""
    numbers: set[float] = set()
    spoken: set[str] = set()
    for one in islice(_origins(index, function, node, DEPTH), MOST_ORIGINS):
        match one:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                numbers.add(float(value))
            case ast.Constant(value=str() as text):
                spoken.update(words(text))
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                spoken.update(words(name))
    return Said(frozenset(numbers), frozenset(spoken))


def _origins(index: Index, function: Function | None, node: ast.AST, depth: int) -> Iterator[ast.AST]:
    """An expression, and what its names were given, as far as one step after the other leads."""
    yield node
    if depth == 0:
        return
    match node:
        case ast.Name(id=name) if function is not None:
            yield from _of_name(index, function, name, depth - 1)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if function and function.owner:
            yield from _of_attribute(index, function.owner, name, depth - 1)
        case ast.Attribute(attr=name):
            yield from _of_record(index, name, depth - 1)
        case ast.Subscript(slice=key):
            yield key
        case ast.Call(func=ast.Name(id="float" | "min" | "max"), args=args):
            for one in args:
                yield from _origins(index, function, one, depth - 1)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant() as key, *_]):
            yield key
        case ast.Call(func=ast.Name(id=name), args=args) if len(index.functions_named(name)) == 1:
            for one in args:
                yield from _if_shares(list(_origins(index, function, one, depth - 1)))
        case ast.IfExp(body=body, orelse=other):
            yield from _origins(index, function, body, depth - 1)
            yield from _origins(index, function, other, depth - 1)


def _if_shares(origins: list[ast.AST]) -> list[ast.AST]:
    """What an argument of a schedule comes from, where that are shares of one: where it begins and ends."""
    numbers = [one.value for one in origins if isinstance(one, ast.Constant)]
    known = [one for one in numbers if isinstance(one, int | float) and not isinstance(one, bool)]
    return origins if known and all(0 < one <= 1 for one in known) else []


def _of_name(index: Index, function: Function, name: str, depth: int) -> Iterator[ast.AST]:
    assigned = [
        node.value
        for node in own_nodes(function.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    for value in assigned:
        yield from _origins(index, function, value, depth)
    if assigned:
        return
    if name in function.parameters:
        yield from _of_parameter(index, function, name, depth)
        return
    module = index.module_of(function.source)
    known = getattr(index.resolve(module, name), "value", None)
    if isinstance(known, ast.expr):
        yield from _origins(index, function, known, depth)


def _of_record(index: Index, name: str, depth: int) -> Iterator[ast.AST]:
    """`config.decay`: the default of the one class that declares it."""
    declared = [cls.variables[name] for cls in index.classes if name in cls.variables]
    if len(declared) == 1:
        yield from _origins(index, None, declared[0], depth)


def _of_parameter(index: Index, function: Function, name: str, depth: int) -> Iterator[ast.AST]:
    """What the callers hand over; the default where nobody does."""
    given = list(islice(_given(index, function, name), MOST_MAKERS))
    for caller, value in given:
        yield from _origins(index, caller, value, depth)
    default = default_of(function, name)
    if not given and default is not None:
        yield default


def default_of(function: Function, name: str) -> ast.expr | None:
    """The default of a parameter."""
    arguments = function.node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    behind = dict(zip([one.arg for one in reversed(plain)], reversed(arguments.defaults), strict=False))
    only = {one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return behind.get(name) or only.get(name)


def _given(index: Index, function: Function, name: str) -> Iterator[tuple[Function | None, ast.expr]]:
    """What calls of the function, or of its class where it is the constructor, give under a name."""
    called = function.owner.name if function.owner and function.name == "__init__" else function.name
    if called.startswith("__") or called in COMMON:
        return
    if function.name != "__init__" and len(index.functions_named(function.name)) > 1:
        return  # which of them is called is not known
    names = [one for one in function.parameters if one not in {"self", "cls"}]
    position = names.index(name) if name in names else len(names)
    for source, call in _calls(index).get(called, ()):
        word = next((one.value for one in call.keywords if one.arg == name), None)
        if word is None and position < len(call.args):
            word = call.args[position]
        if word is not None and not isinstance(word, ast.Starred):
            yield _function_around(index, source, call), word


@remembered
def _calls(index: Index) -> dict[str, list[tuple[Source, ast.Call]]]:
    """The calls of a program by the last part of what is called."""
    found: dict[str, list[tuple[Source, ast.Call]]] = {}
    for source in index.program:
        for call in all_nodes(source.tree, ast.Call):
            name = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
            if isinstance(name, str):
                found.setdefault(name, []).append((source, call))
    return found


@remembered
def _functions(index: Index) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for function in index.functions:
        found.setdefault(function.source.file, []).append(function)
    return found


def _function_around(index: Index, source: Source, node: ast.AST) -> Function | None:
    line = getattr(node, "lineno", 0)
    around = [
        one
        for one in _functions(index).get(source.file, ())
        if one.node.lineno <= line <= (one.node.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.node.lineno, default=None)


def _of_attribute(index: Index, owner: Class, name: str, depth: int) -> Iterator[ast.AST]:
    """What a method of the class puts under `self.name`."""
    for cls in index.lineage(owner):
        if name in cls.variables:
            yield cls.variables[name]
        for method in cls.methods.values():
            for node in own_nodes(method.node, ast.Assign):
                for value in _assigned_to(node, name):
                    yield from _origins(index, method, value, depth)


def _assigned_to(node: ast.Assign, name: str) -> Iterator[ast.expr]:
    for target in node.targets:
        if _is_own(target, name):
            yield node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                if _is_own(one, name):
                    yield value


def _is_own(target: ast.expr, name: str) -> bool:
    match target:
        case ast.Attribute(value=ast.Name(id="self"), attr=found):
            return found == name
    return False
