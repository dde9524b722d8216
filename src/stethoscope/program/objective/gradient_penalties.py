"""Penalties on the size of a network's gradients: the sign they are minimised with, and what is measured.

`((torch.autograd.grad(score.sum(), mixed, create_graph=True)[0].flatten(1).norm(2, dim=1) - 1) ** 2).mean()`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Index
from stethoscope.program.objective.declared_numbers import number
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Items, Part, Site, Value

DEPTH = 30
GRADIENT = "torch.autograd.grad"
SQUARES = frozenset({"**", "pow", "square", "abs", "norm", "vector_norm", "relu"})
KEEPING_SIGN = frozenset({"mean", "sum", "to", "float"})
NORMS = frozenset({"norm", "vector_norm"})
DRAWS = frozenset({"rand", "randn", "zeros", "ones", "empty"})
PICTURE_AXES = 3  # besides that of the samples


@dataclass(frozen=True, slots=True, eq=False)
class RaisedPenalty:
    """A penalty that is minimised with a minus."""

    site: Site
    sink: Site


@dataclass(frozen=True, slots=True, eq=False)
class PartialNorm:
    """The size of a gradient of pictures, measured along their channels only."""

    site: Site
    gradient: Site


@remembered
def raised_penalties(index: Index, settings: SettingsTree) -> tuple[RaisedPenalty, ...]:
    """The penalties on gradients that training raises."""
    found: dict[int, RaisedPenalty] = {}
    for one in _with_gradients(index, settings):
        signs: dict[int, set[int]] = {}
        sites: dict[int, Site] = {}
        for term, sign in _signed(one.run, one.sink.value, 1, DEPTH):
            if isinstance(term, Applied) and _is_penalty(one.run, term):
                signs.setdefault(id(term.site.node), set()).add(sign)
                sites[id(term.site.node)] = term.site
        for key, known in signs.items():
            if known == {-1}:
                found.setdefault(key, RaisedPenalty(sites[key], one.sink.site))
    return tuple(found.values())


@remembered
def partial_norms(index: Index, settings: SettingsTree) -> tuple[PartialNorm, ...]:
    """The norms of gradients of pictures along one axis."""
    found: dict[int, PartialNorm] = {}
    for one in _with_gradients(index, settings):
        for value in ingredients(one.run, one.sink.value):
            if not isinstance(value, Applied) or value.callee.rpartition(".")[2] not in NORMS:
                continue
            taken = _gradient(value.args[0]) if value.args else None
            if taken is not None and _is_along_channels(value) and _is_of_pictures(one.run, taken):
                found.setdefault(id(value.site.node), PartialNorm(value.site, taken.site))
    return tuple(found.values())


def _with_gradients(index: Index, settings: SettingsTree) -> Iterator[Minimised]:
    if not any("grad(" in source.text for source in index.program):
        return
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            if any(_is_gradient(value) for value in ingredients(one.run, one.sink.value)):
                yield one
        except (Exhausted, RecursionError):
            continue


def _is_gradient(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee == GRADIENT


# The sign of a penalty


def _signed(run: Execution, value: Value, sign: int, depth: int) -> Iterator[tuple[Value, int]]:
    """The terms of a sum with their signs, looked for inside the functions that make them."""
    if depth == 0:
        return
    match value:
        case Applied(callee="+", args=[left, right]):
            yield from _signed(run, left, sign, depth - 1)
            yield from _signed(run, right, sign, depth - 1)
        case Applied(callee="-", args=[left, right]):
            yield from _signed(run, left, sign, depth - 1)
            yield from _signed(run, right, -sign, depth - 1)
        case Applied(callee="neg", args=[inner]):
            yield from _signed(run, inner, -sign, depth - 1)
        case Applied(callee="*" | "/", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                known = number(scale)
                if isinstance(inner, Applied | Delayed | Choice) and not isinstance(inner, Constant):
                    yield from _signed(
                        run, inner, -sign if known is not None and known < 0 else sign, depth - 1
                    )
        case Applied(args=[inner, *_]) if value.callee.rpartition(".")[2] in KEEPING_SIGN:
            yield from _signed(run, inner, sign, depth - 1)
        case Delayed() if not is_network_pass(run.index, value):
            yield from _signed(run, run.expand(value), sign, depth - 1)
        case Choice(options=options):
            for option in options:
                yield from _signed(run, option, sign, depth - 1)
        case Items(items=[first, *_]):
            yield from _signed(run, first, sign, depth - 1)
        case _:
            yield value, sign


def _is_penalty(run: Execution, term: Applied) -> bool:
    """Whether a term is the size of a gradient, or of what it is short of, and nothing else."""
    if term.callee.rpartition(".")[2] not in SQUARES:
        return False
    outside = ingredients(run, term, leading=lambda value: () if _is_gradient(value) else _inside(value))
    found = list(outside)
    return any(map(_is_gradient, found)) and not any(is_network_pass(run.index, value) for value in found)


def _inside(value: Value) -> tuple[Value, ...]:
    match value:
        case Applied(args=args, keywords=keywords):
            return (*args, *keywords.values())
    return tuple(getattr(value, "items", ())) or ((value.base,) if hasattr(value, "base") else ())


# What is measured


def _gradient(value: Value) -> Applied | None:
    """The gradient itself, where nothing gave it another shape."""
    current = value
    while isinstance(current, Part):
        current = current.base
    return current if isinstance(current, Applied) and _is_gradient(current) else None


def _is_along_channels(value: Applied) -> bool:
    axes = value.keywords.get("dim", value.args[2] if len(value.args) > 2 else None)
    return isinstance(axes, Constant) and axes.value == 1 and not isinstance(axes.value, bool)


def _is_of_pictures(run: Execution, taken: Applied) -> bool:
    """Whether what the gradient is taken by has the axes of pictures: its mixing weights say so."""
    by = taken.keywords.get("inputs", taken.args[1] if len(taken.args) > 1 else None)
    for value in ingredients(run, by) if by is not None else ():
        if isinstance(value, Applied) and value.callee.rpartition(".")[2] in DRAWS:
            sizes = value.args[0].items if value.args and isinstance(value.args[0], Items) else value.args
            if (
                len(sizes) == PICTURE_AXES + 1
                and [number(size) for size in sizes[1:]] == [1.0] * PICTURE_AXES
            ):
                return True
    return False
