"""Averages of weights that a program keeps without a class for it.

A copy of the network whose parameters a loop draws after those of the network that is trained:
`for a, b in zip(copy.parameters(), net.parameters()): a.lerp_(b, 1 - decay)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.networks import networks, trained_by
from stethoscope.program.walk.values import Value

WEIGHTS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers"})
MIXING = frozenset({"lerp_", "lerp", "mul_", "_foreach_lerp_", "_foreach_mul_"})


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The loop that draws an average after the weights, and the average."""

    average: Value
    loop: ast.AST
    event: Event


def drawings(walk: Walk) -> tuple[Drawing, ...]:
    """The averages that training loops keep by hand."""
    return tuple(_drawings(walk))


def _drawings(walk: Walk) -> Iterator[Drawing]:
    loops = {id(node): node for node in _mixing_loops(walk)}
    if not loops:
        return
    inside = {id(inner): node for node in loops.values() for inner in all_nodes(node)}
    trained = {
        id(network)
        for move in walk.moves
        if move.kind is Kind.FORWARD and not without_gradients(move.event)
        for network in networks(called_network(move))
    }
    for event in walk.trace.events:
        if not isinstance(event, Call) or event.name not in WEIGHTS or id(event.site.node) not in inside:
            continue
        if not any(s.kind == "loop" and id(s) in walk.training_scopes for s in event.scopes()):
            continue
        for network in networks(event.receiver):
            if id(network) not in trained and not _is_learned(walk, network):
                yield Drawing(network, inside[id(event.site.node)], event)


def _mixing_loops(walk: Walk) -> Iterator[ast.For]:
    """The loops of the walk that mix one set of numbers into another."""
    seen: set[int] = set()
    for event in walk.trace.events:
        for scope in event.scopes():
            if id(scope.node) in seen:
                break
            seen.add(id(scope.node))
            if scope.kind == "loop" and isinstance(scope.node, ast.For) and mixes(scope.node):
                yield scope.node


def mixes(loop: ast.For) -> bool:
    """Whether the innermost loop over parameters mixes: `a.lerp_(b, t)`, `a.data = d * a + (1 - d) * b`."""
    if not any(isinstance(node, ast.Call) and _called(node) in WEIGHTS for node in all_nodes(loop.iter)):
        return False
    for node in all_nodes(loop):
        if isinstance(node, ast.Call) and _called(node) in MIXING:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_one(node.left):
            return True
    return False


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0)


def _is_learned(walk: Walk, network: Value) -> bool:
    """Whether an optimizer was made with its parameters."""
    return any(trained_by(walk.trace.run, move.subject, network) for move in walk.moves if move.updates)
