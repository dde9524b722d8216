"""Functions that divide a network's parameters into groups for an optimizer, and leave some in none of them.

The function is followed with a small network in the place of the real one, whatever it asks of a parameter:
its shape, its name, the layer that it is of. What no group holds afterwards is left over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.experiments import first_weights, layers
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Drawer
from stethoscope.program.experiments.things import Array, Foreign, Held, Object, Routine, Spot
from stethoscope.program.index import Function, Index
from stethoscope.program.loop.partial_groups import GIVING, gives_all
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import HOLDERS
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.bounded_arrays import CannotCompute
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

STEPS = 20_000  # of following one function
NUMBER = 0.1  # what stands for a rate or a decay
LAYERS: Mapping[str, tuple[object, ...]] = {
    "Linear": (3, 2),
    "Conv1d": (2, 3, 3),
    "Conv2d": (2, 3, 3),
    "Conv3d": (2, 3, 3),
    "Embedding": (4, 3),
    "BatchNorm1d": (3,),
    "BatchNorm2d": (3,),
    "LayerNorm": (3,),
    "GroupNorm": (1, 3),
}
USUAL = ("Linear", "LayerNorm", "Embedding")  # of a network that comes from a library
_OPTIMIZER = re.compile(r"(^|\.)optim(izers?)?\.|bitsandbytes|(Adam|SGD|Lion|RMSprop|Muon)")


@dataclass(frozen=True, slots=True, eq=False)
class LeftOver:
    """The function, and the names that such parameters have in the small network."""

    site: Site
    function: str
    names: tuple[str, ...]
    dimensions: int | None


@remembered
def left_over_parameters(index: Index) -> tuple[LeftOver, ...]:
    """The one function of a program that groups parameters, where it does not group all of them."""
    sources = [source for source in index.program if not is_test(source)]
    if not any("arameters(" in source.text for source in sources) or any(map(gives_all, sources)):
        return ()
    text = "\n".join(source.text for source in sources)
    grouping = [(one, name) for one in index.functions if (name := _divided(one)) and not is_test(one.source)]
    found = [left for one, name in grouping for left in _left_over(index, one, name, text)]
    return tuple(found) if len(grouping) == 1 else ()


def _divided(function: Function) -> str:
    """The parameter of a function whose weights it puts into groups; empty where it makes none."""
    calls = all_nodes(function.node, ast.Call)
    taken = {
        node.func.value.id
        for node in calls
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in GIVING
        and isinstance(node.func.value, ast.Name)
    }
    own = taken & set(function.parameters)
    makes = any(
        isinstance(node, ast.Constant) and node.value == "params" for node in all_nodes(function.node)
    )
    makes = makes or any(word.arg == "params" for call in calls for word in call.keywords)
    return own.pop() if makes and len(own) == 1 else ""


def _left_over(index: Index, function: Function, network: str, text: str) -> Iterator[LeftOver]:
    small = _small_network(text)
    run = _Grouping(index, as_written=True)
    run.steps = STEPS
    home = index.module_of(function.source)
    bound = Object(function.owner) if function.owner is not None else None
    routine = Routine(function.node, home, bound, {}, function.owner, function)
    try:
        given = {**_arguments(function), network: small}
        held = {id(one) for one in _arrays(run.call(routine, (), given), 6)}
    except (CannotCompute, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return
    every = first_weights.parameters(small)
    left = [(name, weight) for name, weight in every if id(weight) not in held]
    if not held or not left or len(left) == len(every):
        return
    kept = [(name, weight) for name, weight in every if id(weight) in held]
    dimensions = {weight.ndim for _, weight in left} - {weight.ndim for _, weight in kept}
    all_biases = all(name.endswith("bias") for name, _ in left) and not any(
        name.endswith("bias") for name, _ in kept
    )
    if dimensions or all_biases:
        names = tuple(name for name, weight in left if not dimensions or weight.ndim in dimensions)
        site = Site(function.source, function.node)
        yield LeftOver(site, function.name, names, min(dimensions) if dimensions else None)


def _small_network(text: str) -> dict[str, Any]:
    """One layer of each kind that a program names."""
    drawer = Drawer()
    named = [kind for kind in LAYERS if re.search(rf"\b{kind}\b", text)]
    kinds = named if {"Linear", "Conv1d", "Conv2d", "Conv3d"} & set(named) else USUAL
    return {
        f"{'norm' if 'Norm' in kind else 'layer'}{place}": layers.made(kind, LAYERS[kind], {}, drawer, None)
        for place, kind in enumerate(kinds)
    }


def _arguments(function: Function) -> dict[str, Any]:
    """What stands for the other arguments that have to be given: numbers, and settings that hold numbers."""
    spec = function.node.args
    positional = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    required = positional[: len(positional) - len(spec.defaults)]
    required += [one.arg for one, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if not value]
    own = required[:1] if function.owner is not None else []
    settings = Held(lambda _: NUMBER, lambda _: NUMBER)
    return {name: settings if name in HOLDERS else NUMBER for name in required if name not in own}


def _arrays(given: Any, depth: int) -> Iterator[Array]:
    if isinstance(given, np.ndarray):
        yield given
    elif depth and isinstance(given, Sequence | set | frozenset) and not isinstance(given, str):
        for one in given:
            yield from _arrays(one, depth - 1)
    elif depth and isinstance(given, Mapping):
        for one in given.values():
            yield from _arrays(one, depth - 1)


class _Grouping(Interpreter):
    """An optimizer is what it was given."""

    def call(
        self, callee: Any, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None = None
    ) -> Any:
        if isinstance(callee, Foreign) and _OPTIMIZER.search(callee.name):
            return args[0] if args else keywords.get("params")
        return super().call(callee, args, keywords, spot)
