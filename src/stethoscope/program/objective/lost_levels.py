"""Levels of noise that are lost or moved on their way through the network, or on their way into it.

A step that is divided by the number of steps without a remainder is zero. An embedding of the step that a
layer computes and adds to nothing says nothing. A step that the caller divides by the number of steps and the
network divides once more is as good as zero; and one that training tells one lower than the tables are
looked up with, while sampling does not, is that of another level.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.told_levels import LEVELS, NETWORKS
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

TIMES = LEVELS | {"temb", "timeemb", "tvec"}
# How people call the number of all steps.
ALL_STEPS = frozenset({"steps", "timesteps", "total", "t", "num", "max", "n", "train"})
MANY = 100
TABLES = frozenset({
    "alpha", "alphas", "sigmas", "beta", "betas", "bar", "abar", "acp", "cumprod", "alphabar",
})  # fmt: skip
NOISE = frozenset({"randn", "randn_like", "normal", "add_noise", "q_sample"})


@dataclass(frozen=True, slots=True, eq=False)
class LostLevel:
    """Where a level is lost, and how."""

    source: Source
    node: ast.AST
    name: str
    how: str


def lost_levels(index: Index) -> Iterator[LostLevel]:
    """The levels of a program that adds noise which do not arrive as they were drawn."""
    called = {bare_name(call) for one in index.bodies for call in own_nodes(one.node, ast.Call)}
    if not called & NOISE:
        return
    forwards = [one for one in map(_forward, index.classes) if one is not None]
    for forward in forwards:
        yield from _of_forward(forward)
    functions = [one for one in index.bodies if not is_test(one.source)]
    yield from _divided_twice(functions, forwards)
    yield from _moved(functions)


def _forward(cls: Class) -> Function | None:
    is_module = any(base.rpartition(".")[2] == "Module" for base in cls.bases)
    return cls.methods.get("forward") if is_module and not is_test(cls.source) else None


def _of_forward(forward: Function) -> Iterator[LostLevel]:
    for name in forward.parameters:
        if not TIMES & {*words(name), name}:
            continue
        for node in own_nodes(forward.node, ast.BinOp):
            if isinstance(node.op, ast.FloorDiv) and _is_name(node.left, name) and _is_all_steps(node.right):
                how = f"`{ast.unparse(node)}` is zero for every step but the last"
                yield LostLevel(forward.source, node, name, how)
        dead = _last_use_of_nothing(forward, name)
        if dead is not None:
            how = f"what is made of `{name}` here goes into nothing that the network returns"
            yield LostLevel(forward.source, dead, name, how)


def _is_name(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="float" | "long" | "to" | "view" | "unsqueeze")):
            return _is_name(inner, name)
        case ast.Subscript(value=inner):
            return _is_name(inner, name)
    return isinstance(node, ast.Name) and node.id == name


def _is_all_steps(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and node.value >= MANY
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return _is_all_steps(node.left)
    last = str(getattr(node, "attr", None) or getattr(node, "id", ""))
    return bool(ALL_STEPS & set(words(last)))


# Uses that lead nowhere


def _last_use_of_nothing(forward: Function, name: str) -> ast.AST | None:
    """Where a level is used, in a network none of whose returns depend on it; None where any does."""
    used = [one for one in own_nodes(forward.node, ast.Name) if one.id == name]
    if not any(isinstance(one.ctx, ast.Load) for one in used) or _is_guarded(forward.node):
        return None
    made = _made_of(forward.node, name)
    for node in own_nodes(forward.node):
        is_end = isinstance(node, ast.Return | ast.Yield | ast.If | ast.While | ast.IfExp | ast.Raise)
        parts = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else [node]
        if (is_end or _escapes(node)) and any(_mentions(part, made) for part in parts):
            return None
    return min((one for one in used if isinstance(one.ctx, ast.Load)), key=lambda one: one.lineno)


def _escapes(node: ast.AST) -> bool:
    """Whether a statement keeps something for others: a call for its effect, or an attribute."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute) for target in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _is_guarded(node: ast.AST) -> bool:
    """Whether a function keeps things in places that are not followed."""
    kinds = (ast.Global, ast.Nonlocal, ast.Try, ast.NamedExpr, ast.Lambda, ast.FunctionDef)
    inner = [one for one in all_nodes(node) if isinstance(one, kinds)]
    return len(inner) > (1 if isinstance(node, ast.FunctionDef) else 0)


def _made_of(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> set[str]:
    """The names that something of a value may have gone into, attributes by their last name."""
    found = {name}
    while True:
        more = set(found)
        for node in own_nodes(function):
            match node:
                case ast.Assign(targets=targets, value=value) if _mentions(value, found):
                    more.update(*map(_bases, targets))
                case ast.AugAssign(target=target, value=value) if _mentions(value, found):
                    more |= _bases(target)
                case ast.AnnAssign(target=target, value=ast.expr() as value) if _mentions(value, found):
                    more |= _bases(target)
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value) if (
                    _mentions(value, found)
                ):
                    more |= _bases(target)
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target) if _mentions(
                    value, found
                ):
                    more |= _bases(target)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=held)) as call) if _mentions(
                    call, found
                ):
                    more |= _bases(held)
        if more == found:
            return found
        found = more


def _bases(target: ast.expr) -> set[str]:
    """The names that a target changes: `x` of `x`, `x[0]` and `x.part`, and `self.part` by itself."""
    found: set[str] = set()
    for node in all_nodes(target):
        if isinstance(node, ast.Name) and node.id != "self":
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id in names)
        or (isinstance(one, ast.Attribute) and one.attr in names)
        for one in all_nodes(node)
    )


# Divided twice


def _divided_twice(functions: list[Function], forwards: list[Function]) -> Iterator[LostLevel]:
    """Calls that tell a share of all steps to networks that take the share themselves."""
    dividing = [found for one in forwards if (found := _division(one)) is not None]
    if not dividing:
        return
    for function in functions:
        for call in own_nodes(function.node, ast.Call):
            told = _told(call)
            if (
                isinstance(told, ast.BinOp)
                and isinstance(told.op, ast.Div)
                and _is_step_share(function, told)
            ):
                how = f"`{ast.unparse(told)}` is divided by the number of steps here and in the network"
                yield LostLevel(function.source, told, ast.unparse(told.left), how)


def _division(forward: Function) -> ast.AST | None:
    """Where a network divides its level by the number of steps, and does not make it larger again."""
    if any(isinstance(one.op, ast.Mult) and _is_by_many(one) for one in own_nodes(forward.node, ast.BinOp)):
        return None
    for name in (one for one in forward.parameters if LEVELS & {*words(one), one}):
        for node in own_nodes(forward.node, ast.BinOp):
            if isinstance(node.op, ast.Div) and _is_name(node.left, name) and _is_all_steps(node.right):
                return node
    return None


def _is_by_many(product: ast.BinOp) -> bool:
    sides = (one.value for one in (product.left, product.right) if isinstance(one, ast.Constant))
    return any(isinstance(one, int | float) and one >= MANY for one in sides)


def _is_step_share(function: Function, told: ast.BinOp) -> bool:
    name = told.left.id if isinstance(told.left, ast.Name) else ""
    drawn = (one for one in own_nodes(function.node, ast.Assign) if _mentions_target(one, name))
    is_whole = any("randint" in ast.unparse(one.value) for one in drawn)
    return bool(name) and is_whole and _is_all_steps(told.right)


def _mentions_target(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _told(call: ast.Call) -> ast.expr | None:
    """What a network is told beside its input."""
    if not NETWORKS & set(words(bare_name(call))) or len(call.args) < 2:
        return None
    return call.args[1]


# Told one lower


def _moved(functions: list[Function]) -> Iterator[LostLevel]:
    """Networks that are told `t - 1` of an input made with `t`, where a sampler tells what it looks up."""
    plain = [one for one in functions if _tells_what_it_looks_up(one)]
    for function in functions if plain else ():
        for call in own_nodes(function.node, ast.Call):
            told = _told(call)
            name = _shifted(told) if told is not None else None
            if told is not None and name is not None and _corrupts_with(function, name):
                how = f"the network is told `{ast.unparse(told)}`, and its input was made with `{name}`"
                yield LostLevel(function.source, told, name, how)


def _shifted(told: ast.expr) -> str | None:
    """`t` of `t - 1`, `t + 1` and `t.clamp(min=1) - 1`."""
    match told:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=ast.Constant(value=1)):
            while isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute):
                left = left.func.value
            if isinstance(left, ast.Name) and LEVELS & {*words(left.id), left.id}:
                return left.id
    return None


def _corrupts_with(function: Function, name: str) -> bool:
    """Whether a function makes noisy input with a level: looked up in a table, or handed on."""
    for node in own_nodes(function.node):
        match node:
            case ast.Subscript(value=table, slice=ast.Name(id=key)) if key == name:
                if TABLES & set(words(ast.unparse(table))):
                    return True
            case ast.Call() if {"q_sample", "add_noise", "noise", "corrupt", "diffuse", "extract"} & {
                bare_name(node),
                *words(bare_name(node)),
            }:
                if any(isinstance(arg, ast.Name) and arg.id == name for arg in node.args):
                    return True
    return False


def _tells_what_it_looks_up(function: Function) -> bool:
    """Whether a function goes through the steps and tells the network the one that it looks up."""
    for loop in own_nodes(function.node, ast.For):
        step = loop.target.id if isinstance(loop.target, ast.Name) else ""
        inner = [one for statement in loop.body for one in all_nodes(statement)]
        looked_up = any(
            isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id == step
            for one in inner
        )
        same = {step, *(_names_of_full(inner, step))}
        told = [_told(one) for one in inner if isinstance(one, ast.Call)]
        if looked_up and any(isinstance(one, ast.Name) and one.id in same for one in told):
            return True
    return False


def _names_of_full(nodes: list[ast.AST], step: str) -> Iterator[str]:
    """The names of tables that hold one step for every sample: `torch.full((n,), i)`."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=args) as made):
                is_table = bare_name(made) in {"full", "full_like", "tensor", "expand"}
                if is_table and any(isinstance(one, ast.Name) and one.id == step for one in args):
                    yield name
