"""The layers that a class makes for itself, and which of them feed which."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.weights.numbers import number

DENSE = frozenset(
    {"Linear", "LazyLinear", "Conv1d", "Conv2d", "Conv3d", "Conv1D", "_ConvNd", "Conv"}
    | {
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "ConvTranspose",
        "NonDynamicallyQuantizableLinear",
    }
)
_MOVES_ABOUT = re.compile(r"PixelShuffle|Dropout|Flatten|Unflatten|Identity|Upsample|\w*Pool")
_RELU = frozenset({"ReLU", "relu", "relu_", "ReLU6"})


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer by its attribute (`head`, `mix.0`), its kind (`Linear`) and the call that makes it."""

    attribute: str
    kind: str
    made: ast.Call

    @property
    def fan_in(self) -> float | None:
        """How many values one output is summed over, where the source says it in numbers."""
        given = {keyword.arg: keyword.value for keyword in self.made.keywords}
        wide = number(given.get("in_features") or given.get("in_channels") or _at(self.made, 0))
        if wide is None or self.kind == "Linear":
            return wide
        side = number(given.get("kernel_size") or _at(self.made, 2))
        dimensions = next((int(c) for c in self.kind if c.isdigit()), 2)
        return None if side is None else wide * side**dimensions


def kind_of(node: ast.AST) -> str:
    """The last name of what a call makes: `Linear` for `nn.Linear(3, 4)`."""
    return (dotted(node.func) or "").rpartition(".")[2] if isinstance(node, ast.Call) else ""


def layers_of(cls: ast.ClassDef) -> dict[str, Layer]:
    """The layers that a class keeps as attributes, those of its Sequentials by their place."""
    found: dict[str, Layer] = {}
    for node in all_nodes(cls):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name, value in _attributes(target, node.value):
                    found.update({layer.attribute: layer for layer in _layers(name, value)})
    return found


def _attributes(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.expr():
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, other in zip(targets, values, strict=True):
                yield from _attributes(one, other)


def _layers(name: str, value: ast.expr) -> Iterator[Layer]:
    kind = kind_of(value)
    if not isinstance(value, ast.Call):
        return
    if kind == "Sequential":
        for place, part in enumerate(value.args):
            yield from _layers(f"{name}.{place}", part)
    elif kind:
        yield Layer(name, kind, value)


def attribute_of(node: ast.AST) -> str:
    """`head` for `self.head`, `mix.0` for `self.mix[0]`; "" for anything else."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Subscript(value=base, slice=ast.Constant(value=int() as place)):
            before = attribute_of(base)
            return f"{before}.{place}" if before else ""
    return ""


def feeding(cls: ast.ClassDef) -> set[tuple[str, str]]:
    """Pairs of layers of which the second gets nothing but what the first gives, passed on by functions.

    What is added to something else, or put beside it, has another source: a shortcut.
    """
    pairs = set(_in_sequentials(cls))
    for method in cls.body:
        if isinstance(method, FunctionNode):
            pairs |= set(_in_method(method))
    return pairs


def _in_sequentials(cls: ast.ClassDef) -> Iterator[tuple[str, str]]:
    by_parent: dict[str, list[Layer]] = {}
    for layer in layers_of(cls).values():
        parent, _, place = layer.attribute.rpartition(".")
        if place.isdigit():
            by_parent.setdefault(parent, []).append(layer)
    for parts in by_parent.values():
        dense = [layer.attribute for layer in parts if layer.kind in DENSE]
        yield from itertools.pairwise(dense)


def _in_method(method: FunctionNode) -> Iterator[tuple[str, str]]:
    holds: dict[str, str] = {}  # the variables that hold what a layer gave, as far as it is its alone
    calls: list[tuple[str, str]] = []

    def source(node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return holds.get(name, "")
            case ast.Call(func=func, args=args):
                layer = attribute_of(func)
                inner = source(args[0]) if args else ""
                if not inner and isinstance(func, ast.Attribute) and not layer:
                    inner = source(func.value)  # a method: `h.relu()`
                if layer and inner:
                    calls.append((inner, layer))
                return layer if layer and not _passes_on(layer) else inner
        return ""

    statements = [n for n in all_nodes(method) if isinstance(n, ast.Assign | ast.Return | ast.Expr)]
    for node in sorted(statements, key=lambda one: one.lineno):
        given = source(node.value) if node.value is not None else ""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    holds[target.id] = given
    for joined in all_nodes(method, ast.BinOp):  # calls inside sums are met too
        for side in (joined.left, joined.right):
            if isinstance(side, ast.Call):
                source(side)
    yield from calls


def _passes_on(attribute: str) -> bool:
    """Whether a part of this name changes values without mixing in any others: an activation, a dropout."""
    return attribute.rpartition(".")[2].lower().startswith(("act", "relu", "gelu", "silu", "drop", "nonlin"))


def rectified(cls: ast.ClassDef) -> set[str]:
    """The layers whose output goes straight into a ReLU."""
    made = layers_of(cls)
    relus = {name for name, layer in made.items() if layer.kind in _RELU}
    found = set()
    for name in made:
        if _next_in_sequence(name, made) in relus:
            found.add(name)
    for node in all_nodes(cls, ast.Call):
        called = attribute_of(node.func)
        is_relu = called in relus or (dotted(node.func) or "").rpartition(".")[2] in _RELU
        inner = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _RELU and not node.args:
            is_relu, inner = True, node.func.value
        if is_relu and isinstance(inner, ast.Call) and (layer := attribute_of(inner.func)):
            found.add(layer)
    return found


def _next_in_sequence(name: str, made: dict[str, Layer]) -> str:
    """The part of a Sequential behind another, past those that only move values about."""
    parent, _, place = name.rpartition(".")
    while place.isdigit():
        place = str(int(place) + 1)
        behind = made.get(f"{parent}.{place}")
        if behind is None or not _MOVES_ABOUT.match(behind.kind):
            return behind.attribute if behind is not None else ""
    return ""


def gain(std: float, layer: Layer | None) -> float | None:
    """By what factor a layer of such weights makes values larger; None where its size is not written out."""
    fan_in = layer.fan_in if layer is not None else None
    return None if fan_in is None or fan_in <= 0 else std * math.sqrt(fan_in)


def _at(call: ast.Call, place: int) -> ast.expr | None:
    return call.args[place] if place < len(call.args) else None
