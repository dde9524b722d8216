"""Which functions and classes of the repository a call may reach."""

from __future__ import annotations

import ast

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.settings.mentions import Mentions, Spot, called
from stethoscope.run import Source

MOST_TARGETS = 12  # methods of one name; of more, nobody knows which one is meant

# Methods of objects from everywhere: a call reaches ours only where the object is seen to be ours.
_COMMON_METHODS = frozenset(
    {
        *("step", "backward", "fit", "train", "eval", "forward", "update", "load", "save", "add"),
        *("append", "extend", "run", "init", "get", "set", "start", "apply", "register", "call"),
        *("reset", "build", "put", "send", "map", "state_dict", "load_state_dict", "zero_grad"),
        *("close", "open", "test", "predict", "setup", "create"),
    }
)


def targets(call: ast.Call, source: Source, code: Mentions) -> list[Function | Class]:
    """The functions and classes of the repository that a call may reach; none where it may leave it."""
    index = code.index
    name = dotted(call.func)
    if name is not None:
        found = index.resolve(index.module_of(source), name)
        if isinstance(found, Function | Class):
            return [found]
        if name == "cls" and (around := code.class_around(call)) is not None:
            return [around]
        if "." not in name:
            return [f for f in index.functions_named(name) if f.source is source and f.owner is None]
    if isinstance(call.func, ast.Subscript | ast.Call):
        return _registered(call.func, source, code)
    if not isinstance(call.func, ast.Attribute):
        return []
    if _is_super(call.func.value):
        return _inherited(call, call.func.attr, code)
    own = _own_method(call.func, code)
    if own is not None:
        return [own]
    if call.func.attr in _COMMON_METHODS and not _is_ours(call.func.value, source, code):
        return []
    named = index.functions_named(call.func.attr)
    return list(named) if len(named) <= MOST_TARGETS else []


def constructor(target: Function | Class, code: Mentions) -> tuple[Function | None, int]:
    """The function that takes a call's arguments, and how many parameters come before them."""
    if isinstance(target, Class):
        return code.index.method(target, "__init__"), 1
    method = target.owner is not None and "staticmethod" not in target.decorators
    return target, int(method)


def _own_method(func: ast.Attribute, code: Mentions) -> Function | None:
    """The method that `self.method(...)` means, where no class derived from this one has another."""
    if not (isinstance(func.value, ast.Name) and func.value.id in {"self", "cls"}):
        return None
    if len(code.index.functions_named(func.attr)) <= MOST_TARGETS:
        return None  # few enough to look at all of them, those of derived classes too
    cls = code.class_around(func)
    return code.index.method(cls, func.attr) if cls is not None else None


def _registered(chosen: ast.Subscript | ast.Call, source: Source, code: Mentions) -> list[Function | Class]:
    """What `MODELS[name](...)` or `MODELS.get(name)(...)` may call, if all of it is in the repository."""
    base = chosen.value if isinstance(chosen, ast.Subscript) else getattr(chosen.func, "value", None)
    name = (dotted(base) or "").rpartition(".")[2] if base is not None else ""
    index = code.index
    if name in index.registries:
        return list(index.registries[name].values())
    tables = [spot for spot in code.given.get(name, ()) if isinstance(spot.node, ast.Dict)]
    values = [(value, spot.source) for spot in tables for value in getattr(spot.node, "values", ())]
    found = [index.resolve(index.module_of(home), dotted(value) or "") for value, home in values]
    ours = [target for target in found if isinstance(target, Function | Class)]
    return ours if len(ours) == len(found) else []


def _inherited(call: ast.Call, name: str, code: Mentions) -> list[Function | Class]:
    """The method that `super()` finds, where all bases are in the repository."""
    cls = code.class_around(call)
    if cls is None or code.index.outside_bases(cls):
        return []
    lineage = code.index.lineage(cls)[1:]
    return next(([base.methods[name]] for base in lineage if name in base.methods), [])


def _is_ours(receiver: ast.expr, source: Source, code: Mentions) -> bool:
    """Whether an object is one of a class of the repository."""
    if isinstance(receiver, ast.Name) and receiver.id in {"self", "cls"}:
        return True
    made = [Spot(receiver, source)] if isinstance(receiver, ast.Call) else []
    made += code.given.get(getattr(receiver, "id", getattr(receiver, "attr", "")), [])
    names = [(spot, called(spot.node)) for spot in made if isinstance(spot.node, ast.Call)]
    index = code.index
    return any(isinstance(index.resolve(index.module_of(s.source), name), Class) for s, name in names if name)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
