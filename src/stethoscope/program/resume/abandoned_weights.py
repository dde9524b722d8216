"""Networks whose optimizer is restored and whose weights stay in the checkpoint.

With one network a resume that forgets the weights shows at once. With several it hides behind the others: the
discriminator, the average and both optimizers come back, and the generator begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.loop.parameter_owners import holder_of, is_inside
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.checkpointing import (
    has_trained_weights,
    is_of_file,
    loaded_role,
    loads_before_training,
    may_be,
    restores_everything,
)
from stethoscope.program.resume.unread_entries import is_mentioned_elsewhere
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Choice, Instance, Table, Value


@dataclass(frozen=True, slots=True, eq=False)
class AbandonedWeights:
    """The load of the optimizer, the network that it steps on, and the entry that nobody asks for."""

    optimizer: Call
    network: Instance
    entry: str


def abandoned_weights(walk: Walk) -> Iterator[AbandonedWeights]:
    """The networks that a resume leaves at their start, though it restores their optimizer."""
    loads = list(loads_before_training(walk))
    if len(loads) < 2 or restores_everything(walk) or has_trained_weights(walk):
        return
    for load in loads:
        if loaded_role(walk, load) is not Role.OPTIMIZER or not is_of_file(walk, load):
            continue
        held = holder_of(walk.trace, load.receiver)
        if len(held) != 1 or not held[0].is_known:
            continue
        others = [one for one in loads if one is not load]
        for network in held[0].owners:
            if not isinstance(network, Instance) or any(_may_fill(walk, one, network) for one in others):
                continue
            entry = _entry_of(walk, network)
            if entry and not is_mentioned_elsewhere(walk.trace.run.index.program, entry):
                yield AbandonedWeights(load, network, entry)


def _may_fill(walk: Walk, load: Call, network: Instance) -> bool:
    """Whether a load restores a network, a part of it, what it is part of, or something unknown."""
    run = walk.trace.run
    receiver = quietly(run, load.receiver) if load.receiver is not None else None
    options = receiver.options if isinstance(receiver, Choice) else (receiver,)
    for one in options:
        if isinstance(one, Instance):
            if one is network or is_inside(run, one, network) or is_inside(run, network, one):
                return True
        elif may_be(walk, load, Role.MODEL):
            return True
    return False


def _entry_of(walk: Walk, network: Instance) -> str:
    """The key under which the program saves a network; "" where it does not, or not by a key."""
    run = walk.trace.run
    taken = {id(one.site.node): one for one in walk.trace.events if isinstance(one, Call)}
    for event in walk.trace.events:
        written = quietly(run, event.args[0]) if isinstance(event, Call) and event.args else None
        if not isinstance(event, Call) or event.name != "save" or not isinstance(written, Table):
            continue
        for key, value in written.entries.items():
            call = taken.get(id(getattr(getattr(quietly(run, value), "site", None), "node", None)))
            if call is not None and call.name == "state_dict" and _is(walk, call.receiver, network):
                return str(key)
    return ""


def _is(walk: Walk, value: Value | None, network: Instance) -> bool:
    return value is not None and quietly(walk.trace.run, value) is network
