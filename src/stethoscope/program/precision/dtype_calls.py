"""The type of what a call gives, by what is called.

Functions and networks of the repository are followed, torch's layers and operations are looked up, a cast
gives its type, and a wrapped or moved network stays the network.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, External, Function, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.precision.autocast import HALVES, DType
from stethoscope.program.precision.autocast_lists import LOWER
from stethoscope.program.precision.kept_types import held_of, is_unknown
from stethoscope.program.precision.methods_by_name import methods_named
from stethoscope.program.precision.numbered_parts import counted, part_named
from stethoscope.program.precision.tensor_types import (
    CREATING,
    NUMBER,
    UNKNOWN,
    Held,
    cast_type,
    is_callable,
    lowers,
    network_output,
    operation,
    table_of,
)
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Site,
    Table,
    Value,
    choice,
)

if TYPE_CHECKING:
    from stethoscope.program.precision.dtype_flow import Flow
    from stethoscope.program.precision.dtype_frames import TypeFrame

MOVING = frozenset(
    {"cuda", "cpu", "to", "train", "eval", "half", "bfloat16", "float", "requires_grad_", "apply"}
)
WRAPPING = frozenset(
    {"compile", "script", "trace", "deepcopy", "FSDP", "fully_shard", "convert_sync_batchnorm"}
)
# What people call a network.
NETWORK_WORDS = frozenset(
    {"model", "net", "network", "backbone", "encoder", "decoder", "student", "unet", "trunk"}
)


def call_type(frame: TypeFrame, node: ast.Call) -> Held:
    """What is known of a call's result."""
    args = [held for arg in node.args for held in _given(frame, arg)]
    keywords = {word.arg: frame.evaluate(word.value) for word in node.keywords if word.arg is not None}
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if name == "super" or (isinstance(func, ast.Attribute) and _is_super(func.value)):
        return _super(frame, node, args, keywords)
    if isinstance(func, ast.Name) and name in {"getattr", "range"} and name not in frame.names:
        part = part_named(frame, node, args) if name == "getattr" else None
        found = held_of(part, frame.mode) if part is not None else counted(args) if name == "range" else None
        if found is not None:
            return found
    if isinstance(func, ast.Name) and func.id in frame.local:
        return frame.nested(frame.local[func.id], args, keywords)
    own = _own_operation(frame, func)
    if own is not None:
        frame.flow.note_reached(node, own)
        return frame.flow.call(own, [UNKNOWN, *args], keywords, frame.mode)
    callee = frame.flow.settled(_callee(frame, func))
    if callee is None or _is_hollow(callee):
        callee = frame.flow.callees.get(id(node), callee)
    if frame.mode.half is not None and lowers(callee):
        frame.flow.lowered.add(node)
    if isinstance(callee, Outside):
        return _outside(frame, callee.name, node, args, keywords)
    if is_callable(callee):
        frame.flow.note_reached(node, callee)
        return frame.flow.call(callee, args, keywords, frame.mode)
    if isinstance(func, ast.Attribute):
        base = frame.evaluate(func.value)
        table = table_of(base.value) if base.value is not None else None
        if table is not None and func.attr in {"items", "values", "keys"}:
            return _entries(frame.flow, table, func.attr)
        if isinstance(base.value, Instance | Applied) and func.attr in MOVING:
            return _moved(frame, node, base.value, func.attr, args, keywords)
        is_tensor = base.dtype in HALVES | {DType.FLOAT32}
        if (base.value is None or isinstance(base.value, Applied)) and not _names_network(func, is_tensor):
            if frame.mode.half is not None and func.attr in LOWER:
                frame.flow.lowered.add(node)
            named = _by_name(frame, base, func.attr, args)
            if named is not None:
                uncertain = replace(frame.mode, certain=False)
                return replace(frame.flow.call(named, args, keywords, uncertain), sure=False)
            return _method(frame, node, base, func.attr, args, keywords)
    return network_output(args, frame.mode) if _names_network(func) else UNKNOWN


def _own_operation(frame: TypeFrame, func: ast.expr) -> FunctionValue | None:
    """The forward pass of an operation with its own backward pass: `Rounding.apply(x)`."""
    if not isinstance(func, ast.Attribute) or func.attr != "apply":
        return None
    index = frame.flow.run.index
    target = index.resolve(frame.module, dotted(func.value) or "")
    if not isinstance(target, Class) or not any(
        base.endswith("Function") for base in index.outside_bases(target)
    ):
        return None
    forward = index.method(target, "forward")
    return FunctionValue(forward) if forward is not None else None


def _by_name(frame: TypeFrame, base: Held, name: str, args: list[Held]) -> Value | None:
    """The methods of the repository that a call on an unknown object may lead to, in half precision."""
    is_hidden = base.value is not None and base.items is None and _is_hollow(base.value)
    if not (is_unknown(base) or is_hidden) or (frame.mode.half is None and frame.mode.weights not in HALVES):
        return None
    methods = methods_named(frame.flow.run.index, name, len(args))
    owners = [Instance(one.owner, {}, {}, True) for one in methods if one.owner is not None]
    found = [FunctionValue(one, owner) for one, owner in zip(methods, owners, strict=True)]
    return choice(*found) if found else None


def _given(frame: TypeFrame, node: ast.expr) -> list[Held]:
    """An argument, or those that a star spreads: `nn.Sequential(stem, *blocks)`."""
    held = frame.evaluate(node)
    if not isinstance(node, ast.Starred):
        return [held]
    return list(held.items) if held.items else [held]


def _callee(frame: TypeFrame, func: ast.expr) -> Value | None:
    """The object that is called, None for a method of a tensor and for what is not known."""
    match func:
        case ast.Name(id=name) if name in frame.names:
            return frame.names[name].value
        case ast.Name():
            value = frame.flow.evaluate(func, frame.module)
            return value if not isinstance(value, Leaf) else None
        case ast.Attribute(value=base_node, attr=attr):
            base = frame.evaluate(base_node).value
            if isinstance(base, Instance | Outside | ClassValue | Choice | Table):
                found = frame.flow.attribute(base, attr, Site(frame.module.source, func))
                return found if is_callable(found) or isinstance(found, Outside) else None
            full = dotted(func)
            if full is not None and full.partition(".")[0] not in frame.names:
                target = frame.flow.run.index.resolve(frame.module, full)
                if isinstance(target, External):
                    return Outside(target.name)
                if isinstance(target, Function):
                    return FunctionValue(target)
        case ast.Subscript() | ast.Call() | ast.IfExp():
            return frame.evaluate(func).value
    return None


def _outside(
    frame: TypeFrame, name: str, node: ast.Call, args: list[Held], keywords: dict[str, Held]
) -> Held:
    last = name.rpartition(".")[2]
    if (last in WRAPPING or last.endswith("DataParallel")) and args and args[0].value is not None:
        return args[0]
    if last == "checkpoint" and args:
        return frame.flow.call(args[0].value, args[1:], {}, frame.mode)
    if last in {"enumerate", "zip", "list", "tuple", "reversed", "sorted", "iter", "tqdm"}:
        return _paired(
            last, [Held(items=tuple(frame.flow.visited(arg))) if arg.value else arg for arg in args]
        )
    if last[:1].isupper() and last not in CREATING:
        # A layer that is made on the spot, `nn.Softmax(dim=-1)(x)`: the object, not a number.
        values = tuple(_object(held) or Leaf("argument") for held in args)
        given = {key: _object(held) or Leaf(key) for key, held in keywords.items()}
        made = Applied(name, values, given, Site(frame.module.source, node))
        return Held(value=made, entries=tuple(keywords.items()) or None)
    if last == "autocast" or last == "nullcontext":
        values = tuple(held.value or Leaf("argument") for held in args)
        given = {key: held.value or Leaf(key) for key, held in keywords.items()}
        return Held(value=Applied(name, values, given, Site(frame.module.source, node)))
    return operation(last, name, args, keywords, frame.mode)


def _method(
    frame: TypeFrame, node: ast.Call, base: Held, name: str, args: list[Held], keywords: dict[str, Held]
) -> Held:
    """A method of a tensor."""
    cast = cast_type(name, node, args, keywords)
    if cast is not None:
        if isinstance(cast, DType):
            base = replace(base, dtype=cast, items=None)
        return replace(base, value=None)
    if name in {"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"}:
        return Held(base.dtype)
    if name in {"chunk", "split", "unbind", "tensor_split"}:
        return replace(base, value=None)
    return operation(name, f".{name}", [replace(base, value=None), *args], keywords, frame.mode)


def _moved(
    frame: TypeFrame, node: ast.Call, module: Value, name: str, args: list[Held], keywords: dict[str, Held]
) -> Held:
    """A network that is moved, cast or switched: still the network."""
    values = tuple(held.value or Leaf("argument") for held in args)
    given = {key: held.value or Leaf(key) for key, held in keywords.items()}
    return Held(value=Applied(f".{name}", (module, *values), given, Site(frame.module.source, node)))


def _super(frame: TypeFrame, node: ast.Call, args: list[Held], keywords: dict[str, Held]) -> Held:
    func = node.func
    if not isinstance(func, ast.Attribute) or frame.cls is None:
        return UNKNOWN
    for ancestor in frame.flow.run.index.lineage(frame.cls)[1:]:
        if func.attr in ancestor.methods:
            bound = frame.names.get("self", UNKNOWN).value
            return frame.flow.follow(ancestor.methods[func.attr], bound, args, keywords, frame.mode)
    outside = frame.flow.run.index.outside_bases(frame.cls)
    made = Applied(outside[0] if outside else "", (), {}, Site(frame.module.source, node))
    return frame.flow.call(made, args, keywords, frame.mode) if func.attr == "forward" else UNKNOWN


def _object(held: Held) -> Value | None:
    """The object that a value is; a list of them where all its parts are known."""
    if held.value is not None or not held.items:
        return held.value
    parts = [_object(part) for part in held.items]
    known = [part for part in parts if part is not None]
    return Items(known) if len(known) == len(parts) else None


def _is_hollow(callee: Value, depth: int = 6) -> bool:
    """Whether an object was made of something that is not known here: a walk that met it knows more."""
    match callee:
        case Leaf() | Part() | Applied(callee="()"):
            return True
        case Applied(args=args):
            return depth > 0 and any(_is_hollow(arg, depth - 1) for arg in args)
        case Items(items=items):
            return depth > 0 and any(_is_hollow(item, depth - 1) for item in items)
        case Instance(open=is_open):
            return is_open
    return False


def _entries(flow: Flow, table: Table, asked: str) -> Held:
    """What `modules.items()`, `modules.values()` or `modules.keys()` goes through."""
    inside = flow.elements(table)
    keys = [Held(DType.NUMBER, value=Constant(key)) for key in list(table.entries)[: len(inside)]]
    keys += [UNKNOWN] * (len(inside) - len(keys))
    values = [Held(value=one) for one in inside]
    if asked == "items":
        return Held(items=tuple(Held(items=pair) for pair in zip(keys, values, strict=True)))
    return Held(items=tuple(keys if asked == "keys" else values))


def _paired(name: str, args: Sequence[Held]) -> Held:
    columns = [arg.items for arg in args if arg.items is not None]
    if name == "enumerate" and columns:
        return Held(items=tuple(Held(items=(NUMBER, item)) for item in columns[0]))
    if name == "zip" and columns and len(columns) == len(args):
        return Held(items=tuple(Held(items=row) for row in zip(*columns, strict=False)))
    return args[0] if args and name not in {"zip", "enumerate"} else UNKNOWN


def _names_network(func: ast.expr, is_tensor: bool = False) -> bool:
    """Whether what is called has a name that people give to networks: `self.student`, `model`."""
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return not is_tensor and bool(NETWORK_WORDS.intersection(words(name)))
    return False


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
