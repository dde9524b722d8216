"""Schedules that an engine does not know of, so that its resume does not bring them back.

Accelerate restores what it prepared and what was registered with it; Fabric fills the table that it is
given. A schedule beside them begins anew, over the optimizer that came back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Move, receiver_role
from stethoscope.program.loop.roles import Role, role_by_name, role_of
from stethoscope.program.resume.checkpointing import (
    assigned_names,
    engine_loads,
    first_backward,
    keeps_own_count,
    roles_given,
    schedules,
)
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Instance, Value

HOLDING = frozenset({"prepare", "prepare_scheduler", "register_for_checkpointing"})
PLACES = frozenset({"last_epoch", "_step_count", "last_step"})


def unheld_schedules(walk: Walk) -> Iterator[tuple[Call, Move]]:
    """Each resume by an engine, and the schedule of the training that it leaves out."""
    stepped = [move for move in schedules(walk) if not keeps_own_count(walk, move)]
    begins = first_backward(walk)
    if not stepped or assigned_names(walk) & PLACES or _is_loaded_itself(walk):
        return
    for load in engine_loads(walk):
        if walk.place(load) < begins and not _may_hold(walk, load):
            yield load, stepped[0]
            return


def _is_loaded_itself(walk: Walk) -> bool:
    """Whether something that may be the schedule is loaded by hand."""
    loads = (one for one in walk.trace.events if isinstance(one, Call) and one.name == "load_state_dict")
    return any(receiver_role(walk.trace.run, load) in {None, Role.SCHEDULER} for load in loads)


def _may_hold(walk: Walk, load: Call) -> bool:
    if load.name in {"load", "load_raw"}:
        return Role.SCHEDULER in roles_given(walk, load)
    if load.name != "load_state":
        return True  # deepspeed restores the schedule that it was given, which its settings may name
    if load.keywords:
        return True
    calls = (one for one in walk.trace.events if isinstance(one, Call) and one.name in HOLDING)
    return any(
        _may_be_schedule(walk, value, written)
        for call in calls
        for value, written in zip(call.args, _written(call), strict=False)
    )


def _written(call: Call) -> list[ast.expr | None]:
    """The arguments as they are written; None where that is not known of each."""
    node = call.site.node
    written = node.args if isinstance(node, ast.Call) else []
    return [*written] if len(written) == len(call.args) else [None] * len(call.args)


def _may_be_schedule(walk: Walk, value: Value, written: ast.expr | None) -> bool:
    """Whether something handed to the engine is a schedule, or an object that speaks of one."""
    name = (dotted(written) or "").rpartition(".")[2] if written is not None else ""
    role = role_of(walk.trace.run, value) or role_by_name(name)
    if role is not None:
        return role is Role.SCHEDULER
    if isinstance(value, Applied) and value.callee.endswith("DataLoader"):
        return False
    if not isinstance(value, Instance):
        return True
    node: ast.AST = value.cls.node
    spoken = {word for name in names_in(node) if len(name) < 60 for word in words(name)}
    return bool({"scheduler", "schedule", "sched", "lr"} & spoken)
