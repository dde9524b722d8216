"""Parameters that are chosen for an optimizer by shape or name, and of which nobody chooses the rest.

`[p for p in net.parameters() if p.ndim >= 2]` is half of a division, into those with weight decay and those
without. Where the other half is nowhere, all biases and norms stay at their start.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

GIVING = frozenset({"parameters", "named_parameters"})
SHAPES = frozenset({"ndim", "dim", "shape", "ndimension"})
SMALL = frozenset({"bias", "biases", "norm", "norms", "weight"})  # what names divide parameters by


@dataclass(frozen=True, slots=True, eq=False)
class PartialGroup:
    """The choice, and the question that it asks of each parameter."""

    site: Site
    question: str


@remembered
def partial_groups(index: Index) -> tuple[PartialGroup, ...]:
    """The choice of parameters that a program makes for its optimizer, where it makes no other."""
    sources = [source for source in index.program if not is_test(source)]
    choices = [(source, *choice) for source in sources for choice in _choices(source)]
    if len(choices) != 1 or any(gives_all(source) for source in sources):
        return ()
    source, made, asked = choices[0]
    if asked is None or not _divides(asked) or not _is_for_optimizer(source, made):
        return ()
    return (PartialGroup(Site(source, made), ast.unparse(asked)),)


def _choices(source: Source) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Every list of parameters that is put together, with the question asked of each."""
    if not any(f"{name}(" in source.text for name in GIVING):
        return
    for node in all_nodes(source.tree):
        match node:
            case (
                ast.ListComp(elt=ast.Name(id=taken), generators=[one])
                | ast.GeneratorExp(elt=ast.Name(id=taken), generators=[one])
            ) if GIVING & _called(one.iter) and taken in _names(one.target):
                yield node, one.ifs[0] if len(one.ifs) == 1 else None
            case ast.For(iter=over, body=body) if GIVING & _called(over) and _collects(body):
                yield over, None
            case ast.Call(func=ast.Name(id="filter"), args=[_, given]) if GIVING & _called(given):
                yield node, None


def _collects(body: list[ast.stmt]) -> bool:
    calls = (node for one in body for node in all_nodes(one, ast.Call))
    return any(getattr(call.func, "attr", "") in {"append", "extend", "add", "setdefault"} for call in calls)


def gives_all(source: Source) -> bool:
    """Whether something may be given all parameters at once: an optimizer, or a list of groups."""
    for node in all_nodes(source.tree) if "arameters(" in source.text else ():
        match node:
            case ast.Dict(values=values) if any(_is_all(value) for value in values):
                return True
            case ast.Call(func=func, args=args, keywords=keywords):
                name = (dotted(func) or "").rpartition(".")[2]
                given = [*args[:1], *(word.value for word in keywords if word.arg == "params")]
                if any(map(_is_all, given)) and (name[:1].isupper() or "optim" in name.lower()):
                    return True
            case ast.Assign(value=value) | ast.Return(value=ast.expr() as value) if _is_all(value):
                return True
    return False


def _is_all(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and (dotted(value.func) or "") in {"list", "tuple", "set", "dict"}:
        return any(map(_is_all, value.args))
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") in GIVING


def _divides(asked: ast.expr) -> bool:
    """Whether a question is one of shape, or of the names by which decay is divided."""
    for node in all_nodes(asked):
        if isinstance(node, ast.Attribute) and node.attr in SHAPES:
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return bool(SMALL & set(words(node.value.strip("."))))
    return False


def _is_for_optimizer(source: Source, made: ast.expr) -> bool:
    """Whether a list is a group of an optimizer, or its parameters."""
    names = {
        target.id
        for node in all_nodes(source.tree, ast.Assign)
        if node.value is made
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in all_nodes(source.tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.Dict):
            keyed = zip(node.keys, node.values, strict=True)
            given = [value for key, value in keyed if getattr(key, "value", None) == "params"]
        elif isinstance(node, ast.Call) and "optim" in (dotted(node.func) or "").lower():
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "params")]
        if any(one is made or getattr(one, "id", None) in names for one in given):
            return True
    return False


def _called(node: ast.AST) -> set[str]:
    calls = (inner.func for inner in all_nodes(node, ast.Call))
    return {str(getattr(func, "attr", getattr(func, "id", ""))) for func in calls}


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in all_nodes(node, ast.Name)}
