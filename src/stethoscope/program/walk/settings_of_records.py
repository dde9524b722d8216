"""What the settings say of a field that a record declares with a default and nothing was seen to fill.

A record of options is mostly filled from a file by code that goes through its fields (`Section(**loaded)`).
Where the settings know the names of its fields, the value of the file counts, and not the default.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, dotted
from stethoscope.program.walk.settings_paths import setting
from stethoscope.program.walk.values import Constant, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

RECORDS = frozenset({"dataclass", "define", "frozen", "attrs", "s", "BaseModel", "BaseSettings", "Struct"})
HOLDER = "config"  # what holds the settings goes by many names
FEWEST = 2  # fields that the settings name, before a record is taken for a section of them


def in_settings(run: Execution, cls: Class, name: str, default: Value) -> Value | None:
    """The one value that the settings have for a field of a record, where they name most of its fields."""
    if not isinstance(default, Constant) or not isinstance(default.value, int | float | str):
        return None
    fields = _fields(cls)
    found = run.settings.find((name,), HOLDER) if name in fields else None
    if found is None or not _is_alike(found[1], default.value):
        return None
    named = sum(bool(run.settings.values_named(field)) for field in fields)
    return setting(*found) if named >= FEWEST and 2 * named >= len(fields) else None


def _is_alike(value: object, default: object) -> bool:
    """Whether both are numbers, or both are texts, or both are flags."""
    if isinstance(value, bool) or isinstance(default, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(value, int | float) and isinstance(default, int | float):
        return True
    return isinstance(value, str) and isinstance(default, str)


@lru_cache(maxsize=1024)
def _fields(cls: Class) -> frozenset[str]:
    """The fields of a record with a type; none of a class that is no record."""
    written = [*cls.node.decorator_list, *cls.node.bases]
    marks = [dotted(one.func if isinstance(one, ast.Call) else one) or "" for one in written]
    if not any(mark.rpartition(".")[2] in RECORDS for mark in marks):
        return frozenset()
    typed = (node.target for node in cls.node.body if isinstance(node, ast.AnnAssign))
    return frozenset(target.id for target in typed if isinstance(target, ast.Name))
