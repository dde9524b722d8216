"""Which way a sampler walks along the output of its network: with it, or against it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import MODEL_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

NETWORKS = MODEL_WORDS | {"denoiser", "unet", "dit", "velocity", "field", "flow", "transformer", "vf", "v"}
STARTS = frozenset({"noise", "latent", "latents", "prior", "z"})
INPUTS = 2  # a velocity is asked at a place and at a time
DEPTH = 8  # names and operations looked through


@dataclass(frozen=True, slots=True, eq=False)
class FlowStep:
    """An Euler step from noise to data; `sign` is +1 where it goes along the output, -1 where against it."""

    sign: int
    site: Site


@remembered
def flow_steps(index: Index) -> tuple[FlowStep, ...]:
    """Every `x = x + v * dt` in a loop of a function that starts from noise."""
    functions = (function for function in index.functions if not is_test(function.source))
    return tuple(step for function in functions for step in _Sampler(function).steps())


class _Sampler:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.nodes = own_nodes(function.node)
        self.assigned: dict[str, list[ast.expr]] = {}
        for node in own_nodes(function.node, ast.Assign):
            for target in node.targets:
                for name, value in _named(target, node.value):
                    self.assigned.setdefault(name, []).append(value)

    def steps(self) -> Iterator[FlowStep]:
        """The steps of this function, where it is a sampler and their sign is known."""
        if not self._starts_from_noise():
            return
        for loop in self.nodes:
            for node in all_nodes(loop) if isinstance(loop, ast.For | ast.While) else ():
                found = _step(node)
                if found is None:
                    continue
                place, sign, moved = found
                turn = self._velocity_times_time(moved, place)
                if turn:
                    yield FlowStep(sign * turn, Site(self.function.source, node))

    def _starts_from_noise(self) -> bool:
        drawn = any("randn" in node.attr for node in own_nodes(self.function.node, ast.Attribute))
        return drawn or any(STARTS & set(words(name)) for name in self.function.parameters)

    def _velocity_times_time(self, node: ast.expr, place: str) -> int:
        """The sign of `v * dt`, 0 where it is not one, or not known."""
        factors = list(_factors(node))
        outputs = [one for one in factors if self._output(one, place)]
        if len(outputs) != 1 or len(factors) < 2:
            return 0
        sign = self._output(outputs[0], place)
        for factor in factors:
            if factor is not outputs[0]:
                sign *= self._sign(factor)
        return sign

    def _output(self, node: ast.expr, place: str, depth: int = DEPTH) -> int:
        """+1 for a network's output at this place, or a mixture of several; -1 for a negated one."""
        if depth == 0:
            return 0
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._output(inner, place, depth - 1)
            case ast.Call(func=ast.Attribute(value=inner), args=_) if not _is_network(node, place):
                return self._output(inner, place, depth - 1)
            case ast.Call():
                return 1 if _is_network(node, place) else 0
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self._output(inner, place, depth - 1)
            case ast.BinOp(op=ast.Add(), left=left):  # guidance: one output and the way to another
                return self._output(left, place, depth - 1)
            case ast.Name(id=name) if name != place and name in self.assigned:
                signs = {self._output(value, place, depth - 1) for value in self.assigned[name]}
                return signs.pop() if len(signs) == 1 else 0
        return 0

    def _sign(self, node: ast.expr, depth: int = DEPTH) -> int:
        """The sign of a step in time."""
        if depth == 0:
            return 0
        match node:
            case ast.Constant(value=int() | float() as number):
                return (number > 0) - (number < 0)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._sign(inner, depth - 1)
            case ast.Call(func=ast.Name(id="abs" | "float" | "int" | "len")):
                return 1
            case ast.BinOp(op=ast.Div() | ast.Mult(), left=left, right=right):
                return self._sign(left, depth - 1) * self._sign(right, depth - 1)
            case ast.BinOp(op=ast.Sub(), left=left, right=right):
                return self._ascent() * self._order(left, right)
            case ast.Name(id=name) if name in self.assigned:
                signs = {self._sign(value, depth - 1) for value in self.assigned[name]}
                return signs.pop() if len(signs) == 1 else 0
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return 1 if {"steps", "n", "num", "nfe", "iters"} & set(words(name)) else 0
        return 0

    def _ascent(self) -> int:
        """+1 where the times of the sampler rise, -1 where they fall."""
        found: set[int] = set()
        for node in self.nodes:
            if isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] == "linspace":
                ends = [_number(arg) for arg in node.args[:2]]
                if len(ends) == 2 and None not in ends:
                    found.add(1 if (ends[0] or 0) < (ends[1] or 0) else -1)
                else:
                    return 0
        return found.pop() if len(found) == 1 else 0

    def _order(self, left: ast.expr, right: ast.expr) -> int:
        """+1 for the next time less the present one."""
        for one, other, sign in ((left, right, 1), (right, left, -1)):
            if _is_next(one) and not _is_next(other):
                return sign
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            for node in self.nodes:  # for now, then in zip(times[:-1], times[1:])
                if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple):
                    names = [getattr(one, "id", "") for one in node.target.elts]
                    if left.id in names and right.id in names and "zip" in ast.unparse(node.iter):
                        return 1 if names.index(left.id) > names.index(right.id) else -1
        return 0


def _named(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _named(one, other)
    elif isinstance(target, ast.Tuple):  # cond, free = net(...).chunk(2)
        for one in target.elts:
            yield from _named(one, value)


def _step(node: ast.AST) -> tuple[str, int, ast.expr] | None:
    """The name that moves, the sign, and what is added: of `x = x + a`, `x -= a`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=same), op=ast.Add() | ast.Sub() as op, right=right),
        ) if name == same:
            return name, 1 if isinstance(op, ast.Add) else -1, right
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, value=right):
            return name, 1 if isinstance(op, ast.Add) else -1, right
    return None


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            yield from _factors(left)
            yield from _factors(right)
        case ast.BinOp(op=ast.Div(), left=left, right=right):
            yield from _factors(left)
            yield right
        case _:
            yield node


def _is_network(call: ast.Call, place: str) -> bool:
    """`net(x, t)`: the place that moves goes in."""
    name = (dotted(call.func) or "").rpartition(".")[2]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    holds = any(isinstance(n, ast.Name) and n.id == place for one in given[:1] for n in all_nodes(one))
    is_named = name == "self" or bool(NETWORKS.intersection(words(name)))
    return is_named and holds and len(given) >= INPUTS


def _is_next(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return "+ 1" in text or "next" in words(text.replace("[", " ").replace("]", " "))


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -float(number)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return 0.001 if "eps" in words(name) or "min" in words(name) else None
        case ast.BinOp(op=ast.Sub(), left=left):
            return _number(left)
    return None
