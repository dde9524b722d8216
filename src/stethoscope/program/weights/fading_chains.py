"""What a network multiplies its gradients by on their way to a layer: sigmoids and small factors.

The forward of a class is gone through once, with the classes inside it, as a graph of what each value is made
of. Going back from the output, the best way to each layer with weights counts: a shortcut, a gate or a join
leaves a way round, and a norm makes up for what is lost behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.weights.layers import DENSE, kind_of
from stethoscope.program.weights.numbers import number
from stethoscope.run import Where

STEEPEST = 0.25  # the slope of a sigmoid at its middle
SMALL = 0.5  # a factor above this is no damping
SEVERAL = 4  # blocks in a list whose length a setting decides, at least
DEPTH = 12  # calls inside calls
LONGEST = 64  # blocks that are counted
LARGEST = 20_000  # values in a graph

_NORM = re.compile(r"norm|^(?:bn|ln|gn)\d*$|normali[sz]e|standardi[sz]e", re.IGNORECASE)
_SIGMOIDS = frozenset({"sigmoid", "sigmoid_", "Sigmoid", "expit"})
_WEIGHING = frozenset({"linear", "conv1d", "conv2d", "conv3d", "LSTM", "GRU", "RNN"})

Place = Callable[[ast.AST], Where]
Held = dict[str, "int | None"]


@dataclass(frozen=True, slots=True)
class FadingChain:
    """A network's class whose gradients fade, the places that do it, how often they act, and what is left."""

    cls: Class
    places: tuple[Where, ...]
    times: int
    left: float


@remembered
def fading_chains(index: Index) -> tuple[FadingChain, ...]:
    """Each class through which gradients fade, the worst first; what a class inside does is told once."""
    found = [chain for cls in index.classes if (chain := _chain(index, cls)) is not None]
    found.sort(key=lambda chain: chain.left)
    told: set[Where] = set()
    kept = []
    for chain in found:
        if not told.issuperset(chain.places):
            told.update(chain.places)
            kept.append(chain)
    return tuple(kept)


def _chain(index: Index, cls: Class) -> FadingChain | None:
    forward = index.method(cls, "forward")
    if forward is None or not any(base.endswith("Module") for base in index.outside_bases(cls)):
        return None
    graph = _Graph()
    first: Held = {name: graph.add(_Value(())) for name in forward.parameters[1:]}
    outputs = _Method(index, cls, graph, DEPTH).outputs(forward, first)
    worst = graph.worst_way([one for one in outputs if one is not None])
    if not worst.fades:
        return None
    places = tuple(dict.fromkeys(where for where, _ in worst.fades))
    return FadingChain(cls, places, len(worst.fades), worst.left)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a gradient comes from the output: what it was multiplied by since it met weights."""

    fades: tuple[tuple[Where, float], ...] = ()
    left: float = 1.0
    met_weights: bool = False

    def faded(self, where: Where, factor: float) -> _Way:
        return _Way((*self.fades, (where, factor)), self.left * factor, met_weights=True)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of the forward: what it is made of, and what making it does to gradients."""

    inputs: tuple[int, ...]
    fade: tuple[Where, float] | None = None
    weights: bool = False
    norm: bool = False


@dataclass(slots=True)
class _Graph:
    """The values of one forward, each behind those it is made of."""

    values: list[_Value] = field(default_factory=list)

    def add(self, value: _Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    @property
    def is_full(self) -> bool:
        return len(self.values) > LARGEST

    def worst_way(self, outputs: Iterable[int]) -> _Way:
        """Of all layers with weights, the one that is reached least, on the best way to it."""
        ways: dict[int, _Way] = dict.fromkeys(outputs, _Way())
        worst = _Way()
        for number_, value in reversed(list(enumerate(self.values))):
            way = ways.pop(number_, None)
            if way is None:
                continue
            if value.weights:
                worst = min(worst, way, key=lambda one: one.left)
            before = _before(value, way)
            for one in value.inputs:
                ways[one] = max(ways[one], before, key=_ease) if one in ways else before
        return worst


def _before(value: _Value, way: _Way) -> _Way:
    """The way in front of a value; a factor at the very output is a matter of the loss."""
    if value.norm:
        return _Way(met_weights=True)
    if value.weights:
        return replace(way, met_weights=True)
    if value.fade is not None and way.met_weights:
        return way.faded(*value.fade)
    return way


def _ease(way: _Way) -> tuple[float, bool]:
    return way.left, not way.met_weights


@dataclass(frozen=True, slots=True)
class _Part:
    """Something that a class keeps: the call that makes it, how many in a row, and where that is written."""

    made: ast.expr
    times: int
    home: Module
    owner: Class


class _Method:
    """One method of a network, statement by statement; what it calls is gone through in its place."""

    def __init__(self, index: Index, cls: Class, graph: _Graph, depth: int) -> None:
        self.index = index
        self.cls = cls
        self.graph = graph
        self.depth = depth
        self.parts = _parts(index, cls)
        self.returns: list[int | None] = []
        self.looped: dict[str, tuple[_Part, ...]] = {}
        self.where: Place = cls.source.where

    def outputs(self, method: Function, held: Held) -> list[int | None]:
        """What the method gives back, at each of its returns."""
        self.where = method.source.where
        self.block(method.node.body, held)
        return self.returns

    def block(self, body: Iterable[ast.stmt], held: Held) -> None:
        for statement in body:
            self.statement(statement, held)

    def statement(self, node: ast.stmt, held: Held) -> None:
        match node:
            case ast.Return(value=ast.expr() as value):
                self.returns.append(self.value(value, held))
            case ast.Assign(targets=targets, value=value):
                made = self.value(value, held)
                for target in targets:
                    _store(target, made, held)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _store(target, self.value(value, held), held)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                before = ast.copy_location(ast.Name(name, ast.Load()), target)
                joined = ast.copy_location(ast.BinOp(before, op, value), node)
                _store(target, self.value(joined, held), held)
            case ast.If(body=body, orelse=orelse):
                other = dict(held)
                self.block(body, held)
                self.block(orelse, other)
                for name in [name for name in held if held[name] != other.get(name)]:
                    held[name] = self.joined([held[name], other.get(name)])
            case ast.For(target=target, iter=iterated, body=body):
                self.rounds(_last_name(target), self.iterated(iterated), body, held)
            case ast.With(body=body):
                self.block(body, held)

    def rounds(self, name: str | None, parts: tuple[_Part, ...], body: list[ast.stmt], held: Held) -> None:
        if not parts or name is None:
            self.block(body, held)
            return
        for part in parts:
            self.looped[name] = (replace(part, times=1),)
            for _ in range(min(part.times, LONGEST)):
                self.block(body, held)

    def iterated(self, node: ast.expr) -> tuple[_Part, ...]:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self.parts.get(name, ())
            case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=[first, *_]):
                return self.iterated(first)
        return ()

    def value(self, node: ast.expr, held: Held) -> int | None:
        """The value of an expression; None where nothing of it comes from the input."""
        match node:
            case ast.Name(id=name):
                return held.get(name)
            case ast.Call():
                return self.call(node, held)
            case ast.BinOp(left=left, op=op, right=right):
                one, other = self.value(left, held), self.value(right, held)
                if one is not None and other is not None:
                    return self.joined([one, other])
                made = other if one is None else one
                factor = self.factor(op, left if one is None else right, over=one is not None)
                is_small = made is not None and factor is not None and 0 < abs(factor) <= SMALL
                return self.faded(made, self.where(node), factor) if is_small else made
            case ast.Lambda() | ast.Constant():
                return None
        below = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        return self.joined([self.value(child, held) for child in below])

    def joined(self, made: Iterable[int | None]) -> int | None:
        """A value made of several, each of which has its own way to it."""
        known = tuple(dict.fromkeys(one for one in made if one is not None))
        if len(known) < 2:
            return known[0] if known else None
        return self.graph.add(_Value(known))

    def faded(self, made: int | None, where: Where, factor: float | None) -> int | None:
        if made is None or factor is None:
            return made
        return self.graph.add(_Value((made,), fade=(where, abs(factor))))

    def factor(self, op: ast.operator, by: ast.expr, *, over: bool) -> float | None:
        value = number(by)
        match by:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                value = _kept_number(self.index, self.cls, name)
        match op:
            case ast.Mult():
                return value
            case ast.Div() if over and value:
                return 1 / value
        return None

    def call(self, node: ast.Call, held: Held) -> int | None:
        given = [self.value(arg, held) for arg in node.args]
        given += [self.value(keyword.value, held) for keyword in node.keywords]
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if (
                method := self.index.method(self.cls, name)
            ) is not None:
                return self.inside(self.cls, method, given)
        parts = self.called(node.func)
        for part in parts or ():
            for _ in range(min(part.times, LONGEST)):
                given = [self.through(part, given)]
        if parts is not None:
            return self.joined(given)
        if isinstance(node.func, ast.Attribute):
            given.append(self.value(node.func.value, held))
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _last_name(node.func) or ""
        return self.known(name, self.joined(given), self.where(node))

    def called(self, func: ast.expr) -> tuple[_Part, ...] | None:
        """The parts that a call goes through: `self.body(x)`, `self.blocks[0](x)`, `block(x)`."""
        match func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self.parts.get(name)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                parts = self.parts.get(name)
                return tuple(replace(part, times=1) for part in parts[:1]) if parts else None
            case ast.Name(id=name):
                return self.looped.get(name)
        return None

    def through(self, part: _Part, given: list[int | None]) -> int | None:
        """Behind a part: a layer of torch, or a class of the repository."""
        if not isinstance(part.made, ast.Call):
            return self.joined(given)
        target = self.index.resolve(part.home, dotted(part.made.func) or "")
        if isinstance(target, Class) and (forward := self.index.method(target, "forward")) is not None:
            return self.inside(target, forward, given)
        return self.known(kind_of(part.made), self.joined(given), part.owner.source.where(part.made))

    def inside(self, cls: Class, method: Function, given: list[int | None]) -> int | None:
        if self.depth == 0 or self.graph.is_full:
            return self.joined(given)
        held: Held = dict(zip(method.parameters[1:], given, strict=False))
        return self.joined(_Method(self.index, cls, self.graph, self.depth - 1).outputs(method, held))

    def known(self, name: str, made: int | None, where: Where) -> int | None:
        """Behind a function or a layer that goes by this name."""
        if made is None:
            return None
        if _NORM.search(name):
            return self.graph.add(_Value((made,), norm=True))
        if name in _SIGMOIDS:
            return self.faded(made, where, STEEPEST)
        is_weighing = name in DENSE or name in _WEIGHING
        return self.graph.add(_Value((made,), weights=True)) if is_weighing else made


def _store(target: ast.expr, node: int | None, held: Held) -> None:
    match target:
        case ast.Name(id=name):
            held[name] = node
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for one in elts:
                _store(one, node, held)


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Tuple(elts=[*_, last]):
            return _last_name(last)
    return None


def _parts(index: Index, cls: Class) -> dict[str, tuple[_Part, ...]]:
    """What the classes of a lineage keep as attributes, chains and lists spread out."""
    found: dict[str, tuple[_Part, ...]] = {}
    for owner in reversed(index.lineage(cls)):
        home = index.module_of(owner.source)
        for method in owner.node.body:
            if isinstance(method, FunctionNode):
                lists = _filled_lists(method)
                for name, value in _kept(method):
                    parts = tuple(
                        _Part(made, times, home, owner) for made, times in _spread(value, method, lists)
                    )
                    if parts:
                        found[name] = parts
    return found


def _kept(method: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    for node in all_nodes(method, ast.Assign):
        for target in node.targets:
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield name, node.value


Made = tuple[ast.expr, int]


def _spread(value: ast.expr, method: FunctionNode, lists: Mapping[str, list[Made]]) -> list[Made]:
    """The calls that make the parts, in order, each with how often it is made."""
    match value:
        case ast.Call() if kind_of(value) in {"Sequential", "ModuleList"}:
            return [one for arg in value.args for one in _spread(arg, method, lists)]
        case ast.Starred(value=inner):
            return _spread(inner, method, lists)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return [one for element in elts for one in _spread(element, method, lists)]
        case ast.ListComp(elt=element, generators=[only]) | ast.GeneratorExp(elt=element, generators=[only]):
            return _repeated(_spread(element, method, lists), _length(only.iter, method))
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if isinstance(left, ast.List):
            return _repeated(_spread(left, method, lists), _count(right, method))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _spread(left, method, lists) + _spread(right, method, lists)
        case ast.Name(id=name):
            return list(lists.get(name, ()))
        case ast.Call():
            return [(value, 1)]
    return []


def _repeated(made: list[Made], times: int) -> list[Made]:
    if len(made) == 1:
        return [(made[0][0], made[0][1] * times)]
    return made * min(times, LONGEST)


def _filled_lists(method: FunctionNode) -> dict[str, list[Made]]:
    """Local lists of layers: `layers = []`, `layers.append(...)` and `layers += [...]`, in rounds too."""
    lists: dict[str, list[Made]] = {}

    def go(body: Iterable[ast.stmt], lists: dict[str, list[Made]]) -> None:
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    lists[name] = _spread(value, method, lists)
                case ast.AugAssign(target=ast.Name(id=name), value=value) if name in lists:
                    lists[name] = lists[name] + _spread(value, method, lists)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[value]
                    )
                ) if name in lists:
                    lists[name] = lists[name] + _spread(value, method, lists)
                case ast.For(iter=iterated, body=inner):
                    before = {name: len(made) for name, made in lists.items()}
                    go(inner, lists)
                    times = _length(iterated, method)
                    for name, start in before.items():
                        lists[name] = lists[name][:start] + _repeated(lists[name][start:], times)
                case ast.If(body=inner):
                    go(inner, lists)

    go(method.body, lists)
    return lists


def _length(iterated: ast.expr, method: FunctionNode) -> int:
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[only]):
            return _count(only, method)
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *_]):
            return max(_count(stop, method) - _count(start, method), 1)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return len(elts)
    return SEVERAL


def _count(node: ast.expr, method: FunctionNode) -> int:
    """A number of rounds: written out, or what a parameter is at least likely to be."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return max(_count(node.left, method) - _count(node.right, method), 1)
    written = number(node)
    if written is not None:
        return int(written)
    default = _default(method, node.id) if isinstance(node, ast.Name) else None
    return max(int(default or 0), SEVERAL)


def _default(method: FunctionNode, name: str) -> float | None:
    spec = method.args
    given = [*spec.posonlyargs, *spec.args]
    defaults = dict(zip(reversed([arg.arg for arg in given]), reversed(spec.defaults), strict=False))
    defaults |= {
        arg.arg: value
        for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if value is not None
    }
    return number(defaults.get(name))


def _kept_number(index: Index, cls: Class, name: str) -> float | None:
    """The number that a class keeps under a name: written out, or the default of what it is given."""
    for owner in index.lineage(cls):
        for method in owner.node.body:
            if isinstance(method, FunctionNode):
                for kept, value in _kept(method):
                    if kept == name:
                        return _default(method, value.id) if isinstance(value, ast.Name) else number(value)
    return None
