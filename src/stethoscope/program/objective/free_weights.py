"""Learned weights of losses that nothing holds: `exp(-s) * loss` without the `+ s` that pays for it.

A weight that is a parameter is lowered by the optimizer as far as it goes, and the loss with it. What keeps
it is a term of its own, the logarithm of the variance that the weight stands for. With a minus before it,
that term pays for letting go.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, children
from stethoscope.program.walk.values import Site

MAKERS = frozenset({"Parameter", "ParameterDict", "ParameterList"})
LOSS_WORDS = frozenset(
    {"loss", "losses", "term", "terms", "error", "errors", "nll", "mse", "mae", "bce", "ce", "l1"}
)
# Calls that tell or take apart what they are given, and hold nothing.
TELLING = frozenset(
    {"item", "items", "keys", "values", "zip", "enumerate", "len", "range", "detach", "tolist", "exp"}
)


@dataclass(frozen=True, slots=True, eq=False)
class FreeWeight:
    """A parameter that weighs a loss and is in nothing else that is minimised, or is there with a minus."""

    name: str
    product: Site
    made: Site
    is_paid: bool = False


@remembered
def free_weights(index: Index) -> tuple[FreeWeight, ...]:
    """Every learned weight of a loss without a term of its own."""
    return tuple(
        FreeWeight(name, paid or product, made, is_paid=paid is not None)
        for cls in index.classes
        for name, made in _parameters(cls)
        if (product := _weighed(cls, name)) is not None
        and ((paid := _paid(cls, name)) is not None or not _is_held(index, name))
    )


def _paid(cls: Class, name: str) -> Site | None:
    """`exp(-s) * loss - s`: where the term that should hold the weight has a minus."""
    for method in cls.methods.values():
        meant = _names(method.node, name)
        falling = _falling(method.node, name, meant)
        for node in all_nodes(method.node, ast.BinOp):
            if isinstance(node.op, ast.Sub) and _is_itself(node.right, name, meant):
                products = all_nodes(node.left, ast.BinOp)
                if any(_is_weighed(one, name, meant, falling) for one in products):
                    return Site(method.source, node)
    return None


def _is_weighed(node: ast.BinOp, name: str, meant: frozenset[str], falling: frozenset[str]) -> bool:
    return isinstance(node.op, ast.Mult) and any(
        _falls(weight, name, meant, falling) for weight in (node.left, node.right)
    )


def _is_itself(node: ast.expr, name: str, meant: frozenset[str]) -> bool:
    """The parameter, one of its entries, its sum, or a positive number times that."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=int() | float() as factor), right=inner):
            return factor > 0 and _is_itself(inner, name, meant)
        case ast.Call(func=ast.Attribute(value=inner, attr="sum" | "mean")) | ast.Subscript(value=inner):
            return _is_itself(inner, name, meant)
        case ast.Attribute(attr=attr):
            return attr == name
        case ast.Name(id=called):
            return called in meant
    return False


def _parameters(cls: Class) -> Iterator[tuple[str, Site]]:
    for node in all_nodes(cls.node, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Call(func=called)
            ) if (dotted(called) or "").rpartition(".")[2] in MAKERS:
                yield name, Site(cls.source, node)


def _weighed(cls: Class, name: str) -> Site | None:
    """Where a method multiplies a loss with a weight that falls as the parameter grows."""
    for method in cls.methods.values():
        meant = _names(method.node, name)
        listed, falling = _listed(method.node), _falling(method.node, name, meant)
        for node in all_nodes(method.node, ast.BinOp):
            for weight, other in ((node.left, node.right), (node.right, node.left)):
                if (
                    isinstance(node.op, ast.Mult)
                    and _falls(weight, name, meant, falling)
                    and _is_loss(other, listed)
                ):
                    return Site(method.source, node)
            is_loss = isinstance(node.op, ast.Div) and _is_loss(node.left, listed)
            if is_loss and _mentions(node.right, name, meant):
                return Site(method.source, node)
    return None


def _listed(function: ast.AST) -> frozenset[str]:
    """The names that a function gives to single losses as it goes through all of them."""
    loops = [one for one in all_nodes(function) if isinstance(one, ast.For | ast.comprehension)]
    targets = [one.target for one in loops if _is_loss(one.iter)]
    return frozenset(name.id for target in targets for name in all_nodes(target, ast.Name))


def _names(function: ast.AST, name: str) -> frozenset[str]:
    """What the parameter, one of its entries or the weight made of it is called in a function."""
    found: set[str] = set()
    for _ in range(2):
        given = [(node.targets, node.value) for node in all_nodes(function, ast.Assign)]
        given += [([node.target], node.iter) for node in all_nodes(function, ast.For)]
        for targets, source in given:
            is_plain = isinstance(source, ast.Subscript | ast.Attribute | ast.Call)
            if is_plain and _mentions(source, name, frozenset(found)) and not _is_sum(source):
                found |= {one.id for target in targets for one in all_nodes(target, ast.Name)}
    return frozenset(found)


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in {
        "sum",
        "stack",
        "cat",
    }


def _mentions(node: ast.AST, name: str, meant: frozenset[str]) -> bool:
    return any(
        (isinstance(one, ast.Attribute) and one.attr == name)
        or (isinstance(one, ast.Name) and one.id in meant)
        for one in all_nodes(node)
    )


def _falling(function: ast.AST, name: str, meant: frozenset[str]) -> frozenset[str]:
    """The names that a weight is given which falls as the parameter grows."""
    return frozenset(
        target.id
        for node in all_nodes(function, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _falls(node.value, name, meant)
    )


def _falls(weight: ast.expr, name: str, meant: frozenset[str], falling: frozenset[str] = frozenset()) -> bool:
    """`exp(-s)`, `(-s).exp()`, or a name that was given it."""
    match weight:
        case ast.Name(id=called):
            return called in falling or (called in meant and "precision" in words(called))
        case ast.Call(
            func=ast.Attribute(value=ast.UnaryOp(op=ast.USub(), operand=inner), attr="exp"), args=[]
        ):
            return _mentions(inner, name, meant)
        case ast.Call(func=called, args=[ast.UnaryOp(op=ast.USub(), operand=inner)]):
            return (dotted(called) or "").rpartition(".")[2] == "exp" and _mentions(inner, name, meant)
    return False


def _is_loss(node: ast.expr, listed: frozenset[str] = frozenset()) -> bool:
    if isinstance(node, ast.Name) and node.id in listed:
        return True
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in all_nodes(node))
    return any(LOSS_WORDS.intersection(words(name)) for name in names if name)


def _is_held(index: Index, name: str) -> bool:
    """Whether the parameter is in a sum, or in a call that may make one, anywhere but in its weight."""
    for function in index.functions:
        if name not in function.source.text:
            continue
        meant = _names(function.node, name)
        if any(_holds(node, name, meant) for node in function.node.body):
            return True
    return False


def _holds(node: ast.AST, name: str, meant: frozenset[str], is_added: bool = False) -> bool:
    match node:
        case ast.Call(func=called) if (last := getattr(called, "attr", getattr(called, "id", ""))) != "exp":
            is_added = is_added or (last not in TELLING and last not in MAKERS)
        case ast.Call():  # what is in an exponential is the weight
            return False
        case ast.BinOp(op=ast.Div(), right=right) if _mentions(right, name, meant):
            return _holds(node.left, name, meant, is_added)
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.AugAssign():
            is_added = True
        case ast.Attribute(attr=attr) if attr == name:
            return is_added
        case ast.Name(id=called, ctx=ast.Load()) if called in meant:
            return is_added
    return any(_holds(child, name, meant, is_added) for child in children(node))
