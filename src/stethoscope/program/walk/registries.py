"""What a registry gives: the functions and classes that decorators or calls put into it under a key."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.walk.values import ClassValue, Constant, FunctionValue, Value, choice

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution
    from stethoscope.program.walk.frames import Frame

# Methods that give what is registered, or make one of it.
REGISTRY_METHODS = frozenset({"get", "build", "create", "make", "from_config", "from_cfg"})


def registry_item(run: Execution, base: ast.expr, key: ast.expr, frame: Frame) -> Value | None:
    """`LOSSES[name]` where LOSSES is a registry filled by decorators."""
    registry = registry_named(run.index, dotted(base))
    return registered(run, registry, run.evaluate(key, frame)) if registry else None


def registered(run: Execution, registry: str, key: Value) -> Value:
    """What is registered under a key; where it is not known, what the settings name, else all."""
    entries = run.index.registries[registry]
    if isinstance(key, Constant) and isinstance(key.value, str) and key.value.lower() in entries:
        return definition(entries[key.value.lower()])
    named = run.settings.named(entries)
    chosen = [value for name, value in entries.items() if name in named] or list(entries.values())
    return choice(*(definition(value) for value in chosen))


def registry_named(index: Index, name: str | None) -> str:
    """The registry that a dotted name stands for, "" where it stands for none."""
    last = (name or "").rpartition(".")[2]
    return last if last in index.registries else ""


def definition(item: Function | Class) -> Value:
    """A function or class of the repository as a value."""
    return ClassValue(item) if isinstance(item, Class) else FunctionValue(item)
