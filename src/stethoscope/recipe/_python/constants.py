"""What an expression in a settings file is worth: literals, simple arithmetic, names assigned above."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stethoscope.recipe._python.spans import Spans
from stethoscope.recipe._text import MAX_DEPTH, MAX_SETTINGS
from stethoscope.recipe._tree import Node, Section, TooMuch, all_known, at, is_mapping, merged, plain
from stethoscope.run import Key, Setting, Where

LARGEST_EXPONENT = 64
LONGEST = 1_000  # characters of a computed text, elements of a computed list

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
    "math.sqrt": math.sqrt,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.log": math.log,
    "math.exp": math.exp,
    "math.log2": math.log2,
}
_CONSTANTS = {
    "math.pi": math.pi,
    "math.inf": math.inf,
    "math.e": math.e,
    "np.inf": math.inf,
    "np.pi": math.pi,
}
# What holds keyword arguments as a mapping, by the last part of its name.
_MAPPINGS = frozenset(
    {
        *("dict", "OrderedDict", "ConfigDict", "Config", "EasyDict", "edict", "AttrDict", "Box", "Dict"),
        *("SimpleNamespace", "Namespace", "CfgNode", "CN", "DictConfig", "FrozenDict", "defaultdict"),
    }
)
_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, MemoryError)


@dataclass(slots=True)
class Names:
    """What the names of a module stand for, and the records that its classes are.

    `outer` are the names around a class or function; `aliases` are second names of a section, by its key;
    `held` are the records that something was made of or derived from; `base` is what `_base_.name` refers to.
    """

    values: dict[str, Node] = field(default_factory=dict)
    records: dict[str, Node] = field(default_factory=dict)
    outer: Mapping[str, Node] = field(default_factory=dict)
    aliases: dict[str, Key] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    base: Node | None = None

    def get(self, name: str) -> Node | None:
        """What a name stands for."""
        if name in self.aliases:
            first, *rest = self.aliases[name]
            return at(self.values[str(first)], rest) if str(first) in self.values else None
        return self.values.get(name, self.outer.get(name))

    def inner(self) -> Names:
        """The names seen from inside a class or function."""
        outer = {**self.outer, **self.values}
        return Names({}, dict(self.records), outer, held=self.held, base=self.base)


def evaluate(node: ast.expr, names: Names, spans: Spans, depth: int = 0) -> Node:
    """The value of an expression as a tree of settings; what cannot be told is kept as unknown text."""
    if depth > MAX_DEPTH:
        raise TooMuch
    match node:
        case ast.Constant(value=value):
            return _scalar(node, value, spans) if value is not ... else _unknown(node, spans)
        case ast.Name(id=name):
            return _named(names.get(name), node, spans)
        case ast.List() | ast.Tuple():
            return _listed(node, names, spans, depth)
        case ast.Dict():
            return _mapped(zip(node.keys, node.values, strict=True), node, names, spans, depth)
        case ast.Set(elts=[ast.Set(elts=[inner])]):  # {{_base_.name}}
            return evaluate(inner, names, spans, depth + 1)
        case ast.Attribute() | ast.Subscript():
            return _taken(node, names, spans, depth)
        case ast.Call():
            return _called(node, names, spans, depth)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp() | ast.JoinedStr():
            return _computed(node, names, spans, depth)
    return _unknown(node, spans)


def condition(node: ast.expr, names: Names, spans: Spans) -> bool | None:
    """Whether a condition holds; None where only the run could tell."""
    value = evaluate(node, names, spans)
    if isinstance(value, Section):
        return bool(value.items)
    return bool(value.value) if value.known else None


def called_name(node: ast.expr) -> str:
    """`a.b.c` as text, of a name or attribute; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _scalar(node: ast.expr, value: object, spans: Spans) -> Setting:
    if isinstance(value, bytes | complex):
        return _unknown(node, spans)
    start, end = spans.of(node)
    plainly = not isinstance(value, str)
    return Setting((), value, spans.where(node), spans.text(node), (start, end), plainly)


def _unknown(node: ast.expr, spans: Spans, through: tuple[Where, ...] = ()) -> Setting:
    text = spans.text(node)[:LONGEST]
    return Setting((), text, spans.where(node), text, through=through, known=False)


def _named(found: Node | None, node: ast.expr, spans: Spans) -> Node:
    """A value that has a name: it stands where the name is used and came through where it was given."""
    if found is None:
        return _unknown(node, spans)
    if isinstance(found, Section):
        return found
    through = (found.where, *found.through)
    return Setting((), found.value, spans.where(node), spans.text(node), through=through, known=found.known)


def _listed(node: ast.List | ast.Tuple, names: Names, spans: Spans, depth: int) -> Node:
    items: list[Node] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(element.value, names, spans, depth + 1)
            if not (isinstance(inner, Section) and inner.is_list):
                return _unknown(node, spans)
            items.extend(inner.items.values())
        else:
            items.append(evaluate(element, names, spans, depth + 1))
    if not items:
        start, end = spans.of(node)
        return Setting((), [], spans.where(node), spans.text(node), (start, end), True)
    return Section(dict(enumerate(items)), True, spans.where(node))


def _mapped(
    pairs: Iterable[tuple[ast.expr | None, ast.expr]], node: ast.expr, names: Names, spans: Spans, depth: int
) -> Node:
    """A dict; `**other` is joined in where it is known."""
    items: dict[str | int, Node] = {}
    for key, value in pairs:
        inner = evaluate(value, names, spans, depth + 1)
        if key is None:
            if not (isinstance(inner, Section) and not inner.is_list) and not _is_empty(inner):
                return _unknown(node, spans)
            items.update(inner.items if isinstance(inner, Section) else {})
            continue
        name = evaluate(key, names, spans, depth + 1)
        if isinstance(name, Section) or not isinstance(name.value, str | int | float | None):
            return _unknown(node, spans)
        earlier = items.pop(str(name.value), None)
        if isinstance(earlier, Setting) and isinstance(inner, Setting):
            inner = replace(inner, replaces=(earlier.where, *earlier.replaces))
        items[str(name.value)] = inner
    if not items:
        start, end = spans.of(node)
        return Setting((), {}, spans.where(node), spans.text(node), (start, end), True)
    return Section(items, False, spans.where(node))


def _is_empty(node: Node) -> bool:
    return isinstance(node, Setting) and node.value in ({}, [])


def _taken(node: ast.Attribute | ast.Subscript, names: Names, spans: Spans, depth: int) -> Node:
    """`_base_.model.depth`, `cfg["lr"]`, `betas[0]`."""
    if (spoken := called_name(node)) in _CONSTANTS:
        return Setting((), _CONSTANTS[spoken], spans.where(node), spoken, spans.of(node), True)
    holder = node.value
    if isinstance(holder, ast.Name) and holder.id == "_base_" and names.base is not None:
        inside: Node = names.base
    else:
        inside = evaluate(holder, names, spans, depth + 1)
    if isinstance(inside, Setting):
        return _unknown(node, spans)
    part: object = node.attr if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Subscript):
        index = evaluate(node.slice, names, spans, depth + 1)
        part = index.value if isinstance(index, Setting) and index.known else None
    if isinstance(part, int) and inside.is_list and part < 0:
        part += len(inside.items)
    found = inside.items.get(part) if isinstance(part, str | int) else None
    return _named(found, node, spans)


def _called(node: ast.Call, names: Names, spans: Spans, depth: int) -> Node:
    spoken = called_name(node.func)
    last = spoken.rpartition(".")[2]
    if spoken in names.records and not node.args:
        names.held.add(spoken)
        given = _mapped(_keywords(node), node, names, spans, depth)
        return names.records[spoken] if _is_empty(given) else merged(names.records[spoken], given)
    if last in _MAPPINGS:
        return _mapping_call(node, names, spans, depth)
    if isinstance(node.func, ast.Call) and called_name(node.func.func) in {"L", "LazyCall"}:
        target = ", ".join(spans.text(argument) for argument in node.func.args)
        made = _mapped(_keywords(node), node, names, spans, depth)
        kind = Setting((), target, spans.where(node.func), target)
        return merged(Section({"_target_": kind}, where=spans.where(node)), made)
    if last == "field":
        return _field(node, names, spans, depth)
    taken = [evaluate(argument, names, spans, depth + 1) for argument in node.args]
    if node.keywords or not taken or not all(map(all_known, taken)):
        return _unknown(node, spans, _lines(taken))
    if last in {"list", "tuple"} and len(taken) == 1 and isinstance(taken[0], Section) and taken[0].is_list:
        return taken[0]
    function = _CONVERSIONS.get(spoken) if len(taken) == 1 else _FUNCTIONS.get(spoken)
    function = function or _FUNCTIONS.get(spoken)
    if function is None:
        return _unknown(node, spans, _lines(taken))
    return _applied(function, taken, node, spans)


def _keywords(node: ast.Call) -> list[tuple[ast.expr | None, ast.expr]]:
    return [
        (ast.copy_location(ast.Constant(keyword.arg), keyword.value) if keyword.arg else None, keyword.value)
        for keyword in node.keywords
    ]


def _mapping_call(node: ast.Call, names: Names, spans: Spans, depth: int) -> Node:
    """`dict(lr=0.1, **base)`, `ConfigDict({...})`."""
    made = _mapped(_keywords(node), node, names, spans, depth)
    for argument in node.args:
        first = evaluate(argument, names, spans, depth + 1)
        if not is_mapping(first):
            return _unknown(node, spans)
        made = first if _is_empty(made) else merged(first, made)
    return made


def _field(node: ast.Call, names: Names, spans: Spans, depth: int) -> Node:
    """A dataclass field's default."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "default" in given:
        return evaluate(given["default"], names, spans, depth + 1)
    factory = given.get("default_factory", given.get("factory"))
    if isinstance(factory, ast.Lambda):
        return evaluate(factory.body, names, spans, depth + 1)
    if factory is not None:
        spoken = called_name(factory)
        if spoken in names.records:
            names.held.add(spoken)
            return names.records[spoken]
        if spoken in {"dict", "list"}:
            return Setting((), {} if spoken == "dict" else [], spans.where(node), spans.text(node))
    return _unknown(node, spans)


def _computed(node: ast.expr, names: Names, spans: Spans, depth: int) -> Node:
    """An operator applied to values that are known."""
    if isinstance(node, ast.IfExp):
        holds = condition(node.test, names, spans)
        if holds is None:
            return _unknown(node, spans)
        return evaluate(node.body if holds else node.orelse, names, spans, depth + 1)
    parts = [evaluate(part, names, spans, depth + 1) for part in _operands(node)]
    if isinstance(node, ast.BinOp) and (joined := _joined(node.op, parts)) is not None:
        return joined
    if not all(map(all_known, parts)) or not _is_small(node, parts):
        return _unknown(node, spans, _lines(parts))
    return _applied(lambda *values: _operated(node, values), parts, node, spans)


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BoolOp(values=values):
            return values
        case ast.JoinedStr(values=values):
            return [part.value if isinstance(part, ast.FormattedValue) else part for part in values]
    return []


def _operated(node: ast.expr, values: tuple[Any, ...]) -> object:
    match node:
        case ast.BinOp(op=op):
            return _ARITHMETIC[type(op)](*values)
        case ast.UnaryOp(op=ast.USub()):
            return -values[0]
        case ast.UnaryOp(op=ast.UAdd()):
            return +values[0]
        case ast.UnaryOp(op=ast.Not()):
            return not values[0]
        case ast.Compare(ops=[op]):
            return _COMPARISONS[type(op)](*values)
        case ast.BoolOp(op=op):
            stops = isinstance(op, ast.Or)
            return next((value for value in values if bool(value) == stops), values[-1])
        case ast.JoinedStr(values=parts):
            plainly = all(
                isinstance(part, ast.Constant) or (part.format_spec is None and part.conversion == -1)  # type: ignore[attr-defined]
                for part in parts
            )
            if plainly:
                return "".join(map(str, values))
    raise ValueError


def _joined(op: ast.operator, parts: list[Node]) -> Node | None:
    """Two lists under `+`, a list repeated, two mappings under `|`."""
    first, second = parts
    if isinstance(op, ast.BitOr) and is_mapping(first) and is_mapping(second):
        return merged(first, second)
    if isinstance(op, ast.Add) and _is_list(first) and _is_list(second):
        elements = [*_elements(first), *_elements(second)]
        if len(elements) > MAX_SETTINGS:
            raise TooMuch
        return Section(dict(enumerate(elements)), True, first.where) if elements else first
    if isinstance(op, ast.Mult) and _is_list(first) and isinstance(second, Setting):
        times = second.value
        if isinstance(times, int) and second.known and 0 < times * len(_elements(first)) <= LONGEST:
            return Section(dict(enumerate(_elements(first) * times)), True, first.where)
    return None


def _is_list(node: Node) -> bool:
    return node.is_list if isinstance(node, Section) else node.known and node.value == []


def _elements(node: Node) -> list[Node]:
    return list(node.items.values()) if isinstance(node, Section) else []


def _is_small(node: ast.expr, parts: list[Node]) -> bool:
    """Whether computing it is cheap whatever a stranger wrote."""
    values = [part.value for part in parts if isinstance(part, Setting)]
    if len(values) < len(parts):
        return False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return all(isinstance(value, int | float) and abs(value) < 1e6 for value in values) and (
            abs(values[-1]) <= LARGEST_EXPONENT  # type: ignore[arg-type]
        )
    texts = [value for value in values if isinstance(value, str)]
    if isinstance(node, ast.BinOp) and texts and not isinstance(node.op, ast.Add):
        return False
    numbers = [value for value in values if isinstance(value, int)]
    return sum(map(len, texts)) <= LONGEST and all(value.bit_length() < 4096 for value in numbers)


def _applied(function: Callable[..., Any], parts: list[Node], node: ast.expr, spans: Spans) -> Node:
    try:
        value = function(*[plain(part) for part in parts])
    except _ERRORS:
        return _unknown(node, spans, _lines(parts))
    if not isinstance(value, str | int | float | bool | None):
        return _unknown(node, spans, _lines(parts))
    through = _lines(parts)
    # What is computed from names has no text of its own to edit.
    span = spans.of(node) if not through else None
    return Setting((), value, spans.where(node), spans.text(node), span, False, through=through)


def _lines(parts: Iterable[Node]) -> tuple[Where, ...]:
    found = [where for part in parts if isinstance(part, Setting) for where in part.through]
    return tuple(dict.fromkeys(found))
