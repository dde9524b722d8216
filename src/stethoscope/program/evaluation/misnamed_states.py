"""Weights that are loaded under names which the network does not have, and nothing is said of it.

weights = {f"net.{name}": one for name, one in trained.state_dict().items()}
copy = Net()                                 a class without anything called `net`
copy.load_state_dict(weights, strict=False)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, External, Function, Index, Target, dotted
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source


@dataclass(frozen=True, slots=True, eq=False)
class Misnamed:
    """A lenient load of names that all begin with a part that the network does not have."""

    source: Source
    load: ast.Call
    prefix: str
    network: str


def misnamed_states(index: Index) -> Iterator[Misnamed]:
    """Every such load of a network that is made in the same function or by the same class."""
    for function in index.bodies:
        if is_test(function.source) or "load_state_dict" not in function.source.text:
            continue
        for call in own_nodes(function.node, ast.Call):
            network = _leniently_loaded(call)
            if network is None or not call.args:
                continue
            prefix = _prefix(function, call.args[0])
            made = _made_by(index, function, network) if prefix else None
            target = made[1] if made is not None else None
            if isinstance(target, Class) and not _may_have(index, target, prefix):
                yield Misnamed(function.source, call, prefix, target.name)
            elif made is not None and _is_numbered(made[0], target) and not prefix.isdigit():
                yield Misnamed(function.source, call, prefix, "a Sequential")


def _leniently_loaded(call: ast.Call) -> ast.expr | None:
    """The network that a call loads with `strict=False`; None for every other call."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load_state_dict":
        return None
    strict = [word.value for word in call.keywords if word.arg == "strict"] or call.args[1:2]
    is_lenient = any(isinstance(one, ast.Constant) and one.value is False for one in strict)
    return call.func.value if is_lenient else None


def _prefix(function: Function, state: ast.expr) -> str:
    """What all names of a state begin with, up to the first dot; "" where that is not known."""
    if isinstance(state, ast.Name):
        made = [value for name, value in _assigned(function) if name == state.id]
        if len(made) != 1:
            return ""
        state = made[0]
    match state:
        case ast.DictComp(key=ast.JoinedStr(values=[ast.Constant(value=str(first)), *_])):
            pass
        case ast.DictComp(key=ast.BinOp(left=ast.Constant(value=str(first)), op=ast.Add())):
            pass
        case _:
            return ""
    head, dot, _ = first.partition(".")
    return head if dot else ""


def _assigned(function: Function) -> Iterator[tuple[str, ast.expr]]:
    for node in own_nodes(function.node, ast.Assign):
        for target in node.targets:
            name = dotted(target)
            if name is not None:
                yield name, node.value


def _made_by(index: Index, function: Function, network: ast.expr) -> tuple[ast.Call, Target | None] | None:
    """The call that makes a network, and what it calls: here, in the object that keeps it, or one on."""
    name = dotted(network)
    if name is None:
        return None
    homes = [function]
    if function.owner is not None and name.startswith("self."):
        homes = [*function.owner.methods.values()]
    made = [value for home in homes for told, value in _assigned(home) if told == name]
    call = made[0] if len(made) == 1 else None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        inner = call.func.value
        if not isinstance(inner, ast.Call):
            break
        call = inner  # Net().to(device)
    if not isinstance(call, ast.Call):
        return None
    target = index.resolve(index.module_of(function.source), dotted(call.func) or "")
    if isinstance(target, Function):
        returned = [one.value for one in own_nodes(target.node, ast.Return)]
        if len(returned) != 1 or not isinstance(returned[0], ast.Call):
            return None
        call = returned[0]
        target = index.resolve(index.module_of(target.source), dotted(call.func) or "")
    return call, target


def _is_numbered(made: ast.Call, target: Target | None) -> bool:
    """Whether a network is a Sequential of layers without names, whose weights begin with numbers."""
    is_sequential = isinstance(target, External) and target.name.endswith("nn.Sequential")
    return is_sequential and not any(
        isinstance(one, ast.Dict) or getattr(getattr(one, "func", None), "id", "") == "OrderedDict"
        for one in made.args
    )


def _may_have(index: Index, cls: Class, part: str) -> bool:
    """Whether something of the class may be called so; one with bases that are not here may have anything."""
    if any(not base.endswith("Module") for base in index.outside_bases(cls)):
        return True
    for owner in index.lineage(cls):
        for method in owner.node.body:
            if not isinstance(method, FunctionNode):
                continue
            for node in all_nodes(method):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name) if name == part:
                        return True
                    case ast.Call(func=ast.Name(id="setattr")):
                        return True
                    case ast.Call(func=ast.Attribute(attr="add_module" | "register_module")):
                        return True
    return False
