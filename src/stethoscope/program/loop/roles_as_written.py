"""The part that a name plays in training, by what its file makes for it, else by the name."""

from __future__ import annotations

import ast

from stethoscope.program.index import dotted
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES, Role, role_by_name
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.run import Source

SCHEDULES = ("LR", "Scheduler", "WarmRestarts", "OnPlateau", "Schedule")


def role_as_written(source: Source, owner: ast.expr) -> Role | None:
    """The part that the object behind a name or an attribute plays."""
    name = dotted(owner) or ""
    for made in all_nodes(source.tree, ast.Assign):
        if isinstance(made.value, ast.Call) and any(dotted(target) == name for target in made.targets):
            role = _role_of_maker(bare_name(made.value))
            if role is not None:
                return role
    return role_by_name(name.rpartition(".")[2])


def _role_of_maker(maker: str) -> Role | None:
    if maker in OPTIMIZER_CLASSES:
        return Role.OPTIMIZER
    return Role.SCHEDULER if maker.endswith(SCHEDULES) else role_by_name(maker)
