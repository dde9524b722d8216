"""How often Lightning moves a schedule: what `configure_optimizers` says of its interval."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.syntax import all_nodes
from stethoscope.run import Program, Where


@dataclass(frozen=True, slots=True)
class SchedulerInterval:
    """`{"scheduler": ..., "interval": "step"}`: the unit, and where it is said."""

    unit: str
    where: Where


@lru_cache(maxsize=4)
def scheduler_intervals(program: Program) -> tuple[SchedulerInterval, ...]:
    """Every schedule that is handed over with its interval."""
    found = []
    for source in program:
        if "interval" not in source.text or "scheduler" not in source.text:
            continue
        for node in all_nodes(source.tree):
            told = _interval(node)
            if told is not None:
                found.append(SchedulerInterval(told, source.where(node)))
    return tuple(found)


def _interval(node: ast.AST) -> str | None:
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        given = dict(zip(keys, node.values, strict=True))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        given = {keyword.arg: keyword.value for keyword in node.keywords}
    else:
        return None
    value = given.get("interval")
    is_told = "scheduler" in given and isinstance(value, ast.Constant)
    return str(value.value) if is_told and isinstance(value, ast.Constant) else None
