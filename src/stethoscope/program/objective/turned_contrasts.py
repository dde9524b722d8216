"""Losses that hold a pair against others, with the pair and the others in each other's place.

A hinge or a logistic loss on `negative - positive` of likenesses draws the pair together; on distances it
takes them the other way round. Which of the two is the pair is said by its name, or by the diagonal of a
table; whether it is a likeness is read from how it is computed, else from its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.objective.measured_sides import LIKE_CALLS, NEGATIVE, POSITIVE, Measures, role_named
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, own_nodes
from stethoscope.program.walk.values import Site

# Functions that keep the order of their first argument.
# fmt: off
KEEPING = frozenset({
    "relu", "relu_", "clamp", "clamp_min", "clamp_", "clip", "softplus", "logsigmoid", "exp", "log", "log1p",
    "mean", "sum", "float", "squeeze", "unsqueeze", "view", "reshape", "sigmoid", "elu", "leaky_relu",
    "flatten", "max", "amax", "to", "maximum", "nanmean", "topk", "sort",
})
# fmt: on
LOSS_WORDS = frozenset(
    {"loss", "losses", "cost", "hinge", "objective", "criterion", "triplet", "ranking", "bpr"}
)
DIAGONALS = frozenset({"diagonal", "diag", "arange"})
TRIPLET = ("triplet_margin_loss", "TripletMarginLoss", "triplet_margin_with_distance_loss")


@dataclass(frozen=True, slots=True, eq=False)
class TurnedContrast:
    """A contrast whose pair is pushed apart.

    `pair` and `others` are the names of the two sides as written.
    """

    site: Site
    pair: str
    others: str
    is_likeness: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A part of a sum: its sign, what it is called, whether it is the pair, and what it measures."""

    node: ast.expr
    sign: int
    role: int
    measure: int


@remembered
def turned_contrasts(index: Index) -> tuple[TurnedContrast, ...]:
    """Look through every function of a program that trains."""
    if not any("backward(" in source.text or "training_step" in source.text for source in index.program):
        return ()
    found: list[TurnedContrast] = []
    for function in index.bodies:
        if _speaks_of_pairs(function.node):
            found.extend(_in_function(index, function))
    return tuple(found)


def _speaks_of_pairs(node: FunctionNode) -> bool:
    """Whether anything in a function is called like a pair, or like what takes one out of a table."""
    taken = {one.attr for one in own_nodes(node, ast.Attribute)}
    given = {one.arg for one in own_nodes(node, ast.keyword)}
    if not taken.isdisjoint(DIAGONALS) or "distance_function" in given:
        return True
    if {"a", "p", "n"} <= {one.arg for one in node.args.args}:
        return True
    named = {one.id for one in own_nodes(node, ast.Name)} | {one.arg for one in own_nodes(node, ast.arg)}
    texts = {one.value for one in own_nodes(node, ast.Constant) if isinstance(one.value, str)}
    return any(map(role_named, taken | named | set(filter(str.isidentifier, texts))))


def _in_function(index: Index, function: Function) -> Iterator[TurnedContrast]:
    measures = Measures(index, function)
    for statement in own_nodes(function.node):
        match statement:
            case ast.Return(value=ast.expr() as value) if _is_loss(function.spoken):
                yield from _contrast(measures, function, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_loss(name):
                yield from _contrast(measures, function, value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if _is_loss(name):
                yield from _contrast(measures, function, value)
        if isinstance(statement, ast.Call):
            yield from _swapped_arguments(index, function, statement)
            yield from _ranked(measures, function, statement)
            yield from _classified(measures, function, statement)
            yield from _by_likeness(measures, function, statement)


def _is_loss(name: str) -> bool:
    return bool(LOSS_WORDS.intersection(words(name)))


def _contrast(measures: Measures, function: Function, value: ast.expr) -> Iterator[TurnedContrast]:
    yield from _judged(function, value, list(_sides(measures, value, 1)))


def _judged(function: Function, value: ast.expr, sides: list[_Side]) -> Iterator[TurnedContrast]:
    """The contrast of what is minimised, where its pair is on the wrong side."""
    pairs = [side for side in sides if side.role == POSITIVE]
    others = [side for side in sides if side.role == NEGATIVE]
    if len(pairs) == 1 and not others:
        others = [side for side in sides if side is not pairs[0] and side.measure == pairs[0].measure != 0]
    if len(others) == 1 and not pairs:
        pairs = [side for side in sides if side is not others[0] and side.measure == others[0].measure != 0]
    if len(pairs) != 1 or len(others) != 1 or pairs[0].sign * others[0].sign > 0:
        return
    pair, other = pairs[0], others[0]
    measure = pair.measure or other.measure
    if measure == 0 or (pair.measure and other.measure and pair.measure != other.measure):
        return
    if pair.sign * measure > 0:
        yield TurnedContrast(
            Site(function.source, value), ast.unparse(pair.node), ast.unparse(other.node), measure > 0
        )


def _sides(measures: Measures, node: ast.expr, sign: int) -> Iterator[_Side]:
    """The parts of a sum with their signs, through what keeps the order of values."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _sides(measures, left, sign)
            yield from _sides(measures, right, sign)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from _sides(measures, left, sign)
            yield from _sides(measures, right, -sign)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield from _sides(measures, inner, -sign)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            if isinstance(node.op, ast.Mult) and measures.is_weight(left):
                yield from _sides(measures, right, sign)
            elif measures.is_weight(right):
                yield from _sides(measures, left, sign)
        case ast.Call(func=func, args=args):
            name = (func.attr if isinstance(func, ast.Attribute) else dotted(func) or "").rpartition(".")[2]
            if name in KEEPING:
                is_method = isinstance(func, ast.Attribute) and not measures.is_module(func.value)
                for inner in [func.value] if is_method and isinstance(func, ast.Attribute) else args[:2]:
                    yield from _sides(measures, inner, sign)
            else:
                yield from _side(measures, node, sign)
        case ast.Subscript(value=value):
            yield from _side(measures, node, sign) or _sides(measures, value, sign)
        case ast.Name(id=name) if measures.is_sum(name):
            yield from _sides(measures, measures.definition(name) or node, sign)
        case ast.Name() | ast.Attribute():
            yield from _side(measures, node, sign)


def _side(measures: Measures, node: ast.expr, sign: int) -> list[_Side]:
    role, measure = measures.role(node), measures.measure(node) or measures.preference(node)
    return [_Side(node, sign, role, measure)] if role or measure else []


def _swapped_arguments(index: Index, function: Function, call: ast.Call) -> Iterator[TurnedContrast]:
    """`triplet(anchor, negative, positive)` where the pair comes second."""
    callee = (dotted(call.func) or "").rpartition(".")[2]
    places = _places(index, function, call, callee)
    if not places:
        return
    pair, others = places
    if max(pair, others) >= len(call.args):
        return
    given = [dotted(call.args[place]) or "" for place in (pair, others)]
    if [role_named(name.rpartition(".")[2]) for name in given] == [NEGATIVE, POSITIVE]:
        yield TurnedContrast(Site(function.source, call), given[1], given[0], True)


def _places(index: Index, function: Function, call: ast.Call, callee: str) -> tuple[int, int] | None:
    """Where a function takes the pair, and where the others."""
    if callee in TRIPLET or (len(call.args) == 3 and "triplet" in words(callee)):
        return 1, 2
    targets = index.functions_named(callee)
    if len(targets) != 1:
        return None
    parameters = [name for name in targets[0].parameters if name not in {"self", "cls"}]
    roles: Mapping[int, int] = {role_named(name): place for place, name in enumerate(parameters)}
    return (roles[POSITIVE], roles[NEGATIVE]) if {POSITIVE, NEGATIVE} <= roles.keys() else None


def _ranked(measures: Measures, function: Function, call: ast.Call) -> Iterator[TurnedContrast]:
    """`margin_ranking_loss(first, second, ones)` raises the first above the second."""
    name = (dotted(call.func) or "").rpartition(".")[2]
    if len(call.args) < 3 or not {"rank", "ranking"}.intersection(words(name)):
        return
    first, second, wanted = call.args[:3]
    text = ast.unparse(wanted)
    if "ones" not in text and text not in {"1", "torch.tensor(1)", "torch.tensor(1.0)"}:
        return
    turn = -1 if isinstance(wanted, ast.UnaryOp) else 1
    sides = [*_sides(measures, first, -turn), *_sides(measures, second, turn)]
    yield from _judged(function, call, sides)


def _classified(measures: Measures, function: Function, call: ast.Call) -> Iterator[TurnedContrast]:
    """A cross entropy that should find each row's partner in its own column, among distances."""
    name = (dotted(call.func) or "").rpartition(".")[2].lower()
    if len(call.args) < 2 or not ("cross_entropy" in name or name in {"ce", "criterion", "crossentropy"}):
        return
    table, partners = call.args[:2]
    places = measures.definition(partners.id) if isinstance(partners, ast.Name) else partners
    if places is None or "arange(" not in ast.unparse(places) or measures.measure(table) >= 0:
        return
    written = ast.unparse(table)
    yield TurnedContrast(Site(function.source, call), f"the diagonal of {written}", "the rest", False)


def _by_likeness(measures: Measures, function: Function, call: ast.Call) -> Iterator[TurnedContrast]:
    """`TripletMarginWithDistanceLoss(distance_function=cosine_similarity)`."""
    for keyword in call.keywords:
        if keyword.arg != "distance_function":
            continue
        value = keyword.value.body if isinstance(keyword.value, ast.Lambda) else keyword.value
        name = (dotted(value) or "").rpartition(".")[2]
        if name in LIKE_CALLS or (isinstance(value, ast.Call) and measures.measure(value) > 0):
            yield TurnedContrast(Site(function.source, call), "by " + ast.unparse(value), "the others", True)
