"""The parts of a network that run beside what an optimizer was given of it.

A part that feeds a trained one is what one freezes: a backbone below its head. A part that the loss reaches
by a way of its own, with no trained part behind it, was forgotten: the second of two towers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.loop.parameter_owners import has_weights
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Instance, Value
from stethoscope.run import Where


def left_out_beside(
    run: Execution,
    network: Instance,
    start: Function,
    is_held: Callable[[Value], bool],
    also_before: bool = False,
) -> Iterator[tuple[str, Value, Where]]:
    """The parts that no optimizer has and that feed none which has one: name, part, where they run.

    With `also_before` those too that feed a trained part.
    """
    own = own_parameters(run.index, network.cls)
    parts = {name: value for name, value in network.attributes.items() if name in own or _learns(run, value)}
    held = {name for name, value in parts.items() if is_held(value)}
    methods = methods_reached(run, network, start)
    sinks = held | _using(methods, held)
    for name in parts.keys() - held if held else ():
        sources = {name} | _using(methods, {name})
        used = first_use(methods, name)
        if used is None:
            continue
        if also_before or not any(_feeds(one.node, sources, sinks) for one in methods.values()):
            yield name, parts[name], used


@remembered
def own_parameters(index: Index, cls: Class) -> frozenset[str]:
    """The attributes of a network that its classes make as parameters: `self.scale = nn.Parameter(...)`."""
    found: set[str] = set()
    for one in index.lineage(cls):
        for node in all_nodes(one.node):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
                continue
            if (dotted(node.value.func) or "").rpartition(".")[2] == "Parameter":
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(name for target in targets if (name := _own(target)) and name != "forward")
    return frozenset(found)


def _learns(run: Execution, value: Value) -> bool:
    is_parameter = isinstance(value, Applied) and value.callee == "torch.nn.Parameter"
    return is_parameter or has_weights(run, value)


def methods_reached(run: Execution, network: Instance, start: Function) -> dict[str, Function]:
    """The methods that a method calls, and those they call."""
    found = {start.name: start}
    waiting = [start]
    while waiting:
        for name in _own_calls(waiting.pop().node):
            method = run.index.method(network.cls, name) if name not in found else None
            if method is not None:
                found[name] = method
                waiting.append(method)
    return found


def _own_calls(node: ast.AST) -> Iterator[str]:
    for inner in all_nodes(node):
        if isinstance(inner, ast.Call) and (name := _own(inner.func)):
            yield name


def _own(node: ast.AST) -> str:
    """`part` of `self.part`, and `forward` of `self` where it is called."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Name(id="self"):
            return "forward"
    return ""


def _using(methods: dict[str, Function], names: set[str]) -> set[str]:
    """The methods that use attributes of these names, or such methods."""
    found: set[str] = set()
    for _ in methods:
        more = {
            name
            for name, method in methods.items()
            if name not in found and (names | found) & set(_mentioned(method.node))
        }
        if not more:
            break
        found |= more
    return found


def _mentioned(node: ast.AST) -> Iterator[str]:
    yield from _own_calls(node)
    for inner in all_nodes(node):
        if isinstance(inner, ast.Attribute) and (name := _own(inner)):
            yield name


def first_use(methods: dict[str, Function], name: str) -> Where | None:
    """Where one of the methods first uses an attribute."""
    for method in methods.values():
        for node in all_nodes(method.node):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _own(node) == name:
                return method.source.where(node)
    return None


def _feeds(function: ast.AST, sources: set[str], sinks: set[str]) -> bool:
    """Whether what sources give goes into a sink."""
    given: set[str] = set()
    kinds = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.For, ast.With, ast.If)
    statements = sorted((n for n in all_nodes(function) if isinstance(n, kinds)), key=lambda n: n.lineno)
    for statement in statements:
        for call in (node for node in all_nodes(statement, ast.Call)):
            arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
            if _own(call.func) in sinks and any(_comes_from(one, sources, given) for one in arguments):
                return True
        if not isinstance(statement, ast.Assign | ast.AugAssign):
            continue
        if _comes_from(statement.value, sources, given):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            given |= {n.id for one in targets for n in all_nodes(one, ast.Name)} - {"self"}
    return False


def _comes_from(node: ast.AST, sources: set[str], given: set[str]) -> bool:
    for inner in all_nodes(node):
        if isinstance(inner, ast.Name) and inner.id in given:
            return True
        if isinstance(inner, ast.Call) and _own(inner.func) in sources:
            return True
        if isinstance(inner, ast.Attribute) and _own(inner) in sources:
            return True
    return False
