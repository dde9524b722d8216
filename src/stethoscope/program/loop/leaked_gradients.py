"""Gradients of one player's loss that are still there when the other player steps.

    clear both; loss_d (through both).backward(); step_d; loss_g (through both).backward(); step_g

Two networks with an optimizer each are trained against each other: each loss goes through both. What the
first loss leaves in the second network is added to that network's own gradients, and undoes part of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.loop_order import (
    go_together,
    last_before,
    may_clear,
    moves_between,
    optimizers_of,
    sets_gradients,
    surely_same,
)
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import holder_of, is_inside, name_of, networks_in
from stethoscope.program.loop.training_loop import Path, TrainingLoop
from stethoscope.program.walk.ancestry import cuts_gradient
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import Value

SWITCHES = frozenset({"requires_grad_", "set_requires_grad", "toggle_grad", "toggle_optimizer", "freeze"})


@dataclass(frozen=True, slots=True, eq=False)
class LeakedGradients:
    """The backward pass that leaks, the step of its own optimizer, and the step that takes what leaked."""

    backward: Move
    own_step: Move
    step: Move
    network: str


def leaked_gradients(loop: TrainingLoop) -> Iterator[LeakedGradients]:
    """Each backward pass through a network whose optimizer steps next, with nothing cleared between."""
    if len(optimizers_of(loop)) < 2 or sets_gradients(loop) or any(map(_switches, loop.events)):
        return
    for path in loop.paths:
        steps = [move for move in path.moves if move.updates]
        for own, other in itertools.pairwise(steps):
            found = _between(loop, path, own, other)
            if found is not None:
                yield found


def _switches(event: object) -> bool:
    """Whether weights are taken out of the graph or put into it as the loop runs."""
    if isinstance(event, Assignment):
        return getattr(event.target, "attr", "") == "requires_grad"
    return isinstance(event, Call) and event.name in SWITCHES


def _between(loop: TrainingLoop, path: Path, own: Move, other: Move) -> LeakedGradients | None:
    """What the backward pass of one step leaves to the next step, which has a backward pass of its own."""
    first = last_before(path, own, Kind.BACKWARD)
    second = last_before(path, other, Kind.BACKWARD)
    if first is None or second is None or surely_same(own.subject, other.subject):
        return None
    if path.moves.index(second) < path.moves.index(own) or not go_together(loop, own, other):
        return None
    between = (move for move in moves_between(path, first, other) if move.kind is Kind.ZERO_GRAD)
    if any(may_clear(loop, zero, other) for zero in between):
        return None
    mine, theirs = _network_of(loop, own), _network_of(loop, other)
    if mine is None or theirs is None or mine is theirs:
        return None
    if all(_goes_through(loop, one, network) for one in (first, second) for network in (mine, theirs)):
        return LeakedGradients(first, own, other, name_of(theirs))
    return None


def _network_of(loop: TrainingLoop, step: Move) -> Value | None:
    """The one network that an optimizer was made with."""
    made = holder_of(loop.trace, step.subject)
    owners = made[0].owners if len(made) == 1 and made[0].is_known else ()
    return owners[0] if len(owners) == 1 else None


def _goes_through(loop: TrainingLoop, backward: Move, network: Value) -> bool:
    """Whether the gradients of a loss get to a network."""
    met = (module for module, _ in networks_in(loop.run, backward.subject, cuts_gradient))
    return any(module is network or is_inside(loop.run, module, network) for module in met)
