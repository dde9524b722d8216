"""Parts of a training that get their state back and are then made anew, so that the state is lost again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import dotted
from stethoscope.program.loop.moves import Kind, receiver_role
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.checkpointing import first_backward, schedules
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Applied, Choice, Value

PARTS = {Role.OPTIMIZER: "optimizer", Role.SCHEDULER: "schedule", Role.MODEL: "network"}


@dataclass(frozen=True, slots=True, eq=False)
class Remade:
    """The load that is lost, the call that makes the part anew, and what it is."""

    load: Call
    made: Call
    role: Role

    @property
    def spoken(self) -> str:
        """What people call the part."""
        return PARTS[self.role]


def remade_parts(walk: Walk) -> Iterator[Remade]:
    """Each part that training uses and that is made after the load which was meant for it."""
    begins = first_backward(walk)
    loads = [
        event
        for event in walk.trace.events[: max(begins, 0)]
        if isinstance(event, Call) and event.name == "load_state_dict" and event.receiver is not None
    ]
    if not loads:
        return
    makers = _makers(walk, begins)
    for role, used in _used(walk):
        own = [load for load in loads if receiver_role(walk.trace.run, load) is role]
        if len({id(load.receiver) for load in own}) != 1:
            continue  # several networks, of which each may be another
        for one in _options(used):
            made = makers.get(id(one))
            if made is None or any(one is option for load in own for option in _options(load.receiver)):
                continue
            late = [load for load in own if walk.place(load) < walk.place(made) and _always(made, load)]
            if late and len(late) == len(own) and _takes_the_name(walk, made, late[-1], one):
                yield Remade(late[-1], made, role)
                break


def _takes_the_name(walk: Walk, made: Call, load: Call, part: Value) -> bool:
    """Whether a part is kept under the name of the one that was loaded, and does not hold that one."""
    node = load.site.node
    holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    name = dotted(holder) if holder is not None else None
    assigned = (
        dotted(event.target)
        for event in walk.trace.events
        if isinstance(event, Assignment) and any(one is made.site.node for one in all_nodes(event.site.node))
    )
    if name is None or name not in assigned:
        return False
    loaded = {id(option) for option in _options(load.receiver)}
    return not any(id(one) in loaded for one in ancestry(walk.trace.run, part))


def _makers(walk: Walk, begins: int) -> dict[int, Call]:
    """The calls before training that make something, by what they make."""
    found: dict[int, Call] = {}
    sites = {}
    for event in walk.trace.events[:begins]:
        if isinstance(event, Call):
            sites[id(event.site.node)] = event
    for _, used in _used(walk):
        for one in _options(used):
            made = sites.get(id(one.site.node)) if isinstance(one, Applied) else None
            if made is not None:
                found[id(one)] = made
    return found


def _used(walk: Walk) -> Iterator[tuple[Role, Value]]:
    """The optimizers that are stepped, the schedules that move, and the networks that run in training."""
    seen: set[int] = set()
    moved = [
        *((Role.OPTIMIZER, move) for move in walk.moves if move.updates),
        *((Role.SCHEDULER, move) for move in schedules(walk)),
        *(
            (Role.MODEL, move)
            for move in walk.moves
            if move.kind is Kind.FORWARD and _trains(walk, move.event)
        ),
    ]
    for role, move in moved:
        if move.subject is not None and id(move.subject) not in seen:
            seen.add(id(move.subject))
            yield role, move.subject


def _trains(walk: Walk, event: Event) -> bool:
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def _options(value: Value | None) -> tuple[Value, ...]:
    if isinstance(value, Choice):
        return tuple(value.options)
    return () if value is None else (value,)


def _always(made: Event, load: Event) -> bool:
    """Whether a part is made whenever the load runs."""
    around = {(id(scope.node), scope.arm) for scope in load.scopes() if scope.kind == "if"}
    asked = {(id(scope.node), scope.arm) for scope in made.scopes() if scope.kind == "if"}
    return asked <= around
