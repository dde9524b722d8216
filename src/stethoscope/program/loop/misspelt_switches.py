"""Weights that should leave the graph and do not: `p.require_grad = False` is an attribute that nobody reads.

Python lets any attribute be given to a tensor. A network has no `requires_grad` either, its weights have one.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

SWITCH = "requires_grad"
LEAST_ALIKE = 0.85
WEIGHTS = frozenset({"parameters", "named_parameters"})
PARTS = frozenset({"children", "named_children", "modules", "named_modules"})


@dataclass(frozen=True, slots=True, eq=False)
class MisspeltSwitch:
    """The assignment, what it is given to, and whether an optimizer surely has the weights."""

    source: Source
    node: ast.Assign
    written: ast.Attribute
    of_network: bool
    network: str
    are_trained: bool


@remembered
def misspelt_switches(index: Index) -> tuple[MisspeltSwitch, ...]:
    """Every switch of gradients that switches nothing, as its name is not one of what it is given to."""
    read = _read(index)
    return tuple(
        MisspeltSwitch(
            body.source, node, written, written.attr == SWITCH, network, _are_trained(index, body, network)
        )
        for body in index.bodies
        if not is_test(body.source) and "_grad" in body.source.text
        for node, written, network in _switched_off(body)
        if written.attr not in read
    )


def _read(index: Index) -> frozenset[str]:
    """The names that a class of the program gives a meaning to, and look-alikes that something reads."""
    defined = {body.name for body in index.bodies if body.owner is not None}
    loaded = {
        node.attr
        for source in index.program
        if "_grad" in source.text
        for node in all_nodes(source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Load) and node.attr != SWITCH
    }
    return frozenset(defined | loaded)


def _switched_off(body: Function) -> Iterator[tuple[ast.Assign, ast.Attribute, str]]:
    """The assignments of False to such an attribute, each with the network whose weights are meant."""
    for loop in own_nodes(body.node, ast.For):
        over = [one for one in all_nodes(loop.iter, ast.Call) if isinstance(one.func, ast.Attribute)]
        for call in over:
            network = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
            method = bare_name(call)
            if network is None or method not in WEIGHTS | PARTS or _freezes_weights(loop):
                continue
            for node, written in _given_false(loop):
                is_meant = _is_look_alike(written.attr) or (method in PARTS and written.attr == SWITCH)
                if is_meant and _last_target(loop) == dotted(written.value):
                    yield node, written, network


def _given_false(loop: ast.For) -> Iterator[tuple[ast.Assign, ast.Attribute]]:
    for node in all_nodes(loop, ast.Assign):
        for target in node.targets:
            is_false = isinstance(node.value, ast.Constant) and node.value.value is False
            if is_false and isinstance(target, ast.Attribute):
                yield node, target


def _last_target(loop: ast.For) -> str | None:
    """What a loop calls a weight or a part: the last of `name, weight`."""
    target = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
    return dotted(target)


def _is_look_alike(name: str) -> bool:
    is_alike = difflib.SequenceMatcher(None, name.lower(), SWITCH).ratio() >= LEAST_ALIKE
    return name not in {SWITCH, f"{SWITCH}_"} and is_alike


def _freezes_weights(loop: ast.For) -> bool:
    """Whether a loop over parts also switches off their weights."""
    inner = (one for one in all_nodes(loop, ast.For) if one is not loop)
    is_called = any(bare_name(one) == f"{SWITCH}_" for one in all_nodes(loop, ast.Call))
    return is_called or any(True for _ in inner)


def _are_trained(index: Index, body: Function, network: str) -> bool:
    """Whether an optimizer is given the network, what holds it, or an object of the class that has it."""
    for owner, source in _optimized(index):
        if owner == network or network.startswith(f"{owner}."):
            return True
        if body.owner is not None and network.startswith("self.") and body.owner.name in _made(source, owner):
            return True
    return False


def _optimized(index: Index) -> Iterator[tuple[str, Source]]:
    """The networks whose weights optimizers are made of."""
    for source in index.program:
        for call in all_nodes(source.tree, ast.Call):
            if bare_name(call) in OPTIMIZER_CLASSES and call.args:
                for one in all_nodes(call.args[0], ast.Call):
                    owner = dotted(one.func.value) if isinstance(one.func, ast.Attribute) else None
                    if owner is not None and bare_name(one) in WEIGHTS:
                        yield owner, source


def _made(source: Source, name: str) -> set[str]:
    """The names of what is called to make a variable."""
    made = [one for one in all_nodes(source.tree, ast.Assign) if any(dotted(t) == name for t in one.targets)]
    return {bare_name(call) for one in made for call in all_nodes(one.value, ast.Call)}
