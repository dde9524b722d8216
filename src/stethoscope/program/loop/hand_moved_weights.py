"""Weights and gradients that a loop writes itself, beside what optimizers and backward passes do to them.

Training in half precision by hand keeps two networks: the half one is run and gets the gradients, which are
copied to the other; that one is updated, and its weights are copied back.
"""

from __future__ import annotations

import ast

from stethoscope.program.loop.moves import Move
from stethoscope.program.loop.parameter_owners import holder_of, is_inside, owners_of, unwrapped
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Part, Value

WRITING = frozenset({"copy_", "add_", "sub_", "mul_", "lerp_", "set_", "_foreach_copy_", "_foreach_add_"})


def moved_by_hand(loop: TrainingLoop, module: Value) -> bool:
    """Whether the loop itself writes the weights of a network: `p.copy_(q)`, `net.load_state_dict(...)`."""
    return any(_writes_weights(loop, event, module) for event in loop.events)


def _writes_weights(loop: TrainingLoop, event: Event, module: Value) -> bool:
    if isinstance(event, Assignment):
        target = event.target
        is_data = isinstance(target, ast.Attribute) and target.attr == "data"
        return is_data and _is_of(loop, event.owner, module)
    if not isinstance(event, Call):
        return False
    if event.name == "load_state_dict" and event.receiver is not None:
        return any(is_inside(loop.run, module, one) for one in unwrapped(event.receiver))
    if event.name not in WRITING:
        return False
    written = event.args[0] if event.name.startswith("_foreach") and event.args else event.receiver
    return not _is_gradient(written) and _is_of(loop, written, module)


def gradients_are_replaced(loop: TrainingLoop, update: Move) -> bool:
    """Whether each round writes the gradients of an update from something else, whatever they were before.

    `master.grad = p.grad.float() / scale` leaves nothing of the round before; `p.grad = p.grad * 0.5` does.
    """
    held = [owner for one in holder_of(loop.trace, update.subject) for owner in one.owners]
    return bool(held) and any(
        isinstance(event, Assignment)
        and not event.operator
        and isinstance(event.target, ast.Attribute)
        and event.target.attr == "grad"
        and all(_is_of(loop, event.owner, owner) for owner in held)
        and not any(
            _is_gradient(one) and _is_any_of(loop, one, held) for one in ancestry(loop.run, event.value)
        )
        for event in loop.events
    )


def _is_gradient(value: Value | None) -> bool:
    return isinstance(value, Part) and (
        value.key == "grad" or (value.key == "data" and _is_gradient(value.base))
    )


def _is_any_of(loop: TrainingLoop, value: Value, modules: list[Value]) -> bool:
    return any(_is_of(loop, value, module) for module in modules)


def _is_of(loop: TrainingLoop, value: Value | None, module: Value) -> bool:
    """Whether a tensor is a parameter of a network, or its data or gradient."""
    while isinstance(value, Part) and value.key in {"data", "grad"}:
        value = value.base
    return any(is_inside(loop.run, module, owner) for owner in owners_of(loop.run, value)[0])
