"""What a registry gives: the functions and classes that decorators or calls put into it under a key."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.walk.values import (
    ClassValue,
    Constant,
    FunctionValue,
    Leaf,
    Settings,
    Table,
    Value,
    choice,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution
    from stethoscope.program.walk.frames import Frame

# Methods that give what is registered, or make one of it.
REGISTRY_METHODS = frozenset({"get", "build", "create", "make", "from_config", "from_cfg"})
KINDS = ("type", "name")  # what most settings call the class in a section


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a registry is asked for, and what it hands on to what it makes."""

    key: Value
    args: list[Value]
    keywords: dict[str, Value]


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


def asked_of_registry(
    run: Execution, registry: str, method: str, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Asked:
    """`MODELS.build(section, *others)`: the class that the section names, and the rest of it as arguments."""
    key = run.force(args[0]) if args else Leaf("key")
    section = _entries(run, key)
    named = _naming(run, registry, section)
    settings = {name: value for name, value in section.items() if name not in {*KINDS, named}}
    others = list(args[1:]) if _hands_on(run.index, method) else []
    return Asked(section.get(named, key), others, {**keywords, **settings})


def _entries(run: Execution, section: Value) -> dict[str, Value]:
    if isinstance(section, Settings) and isinstance(section.tree, dict):
        return {str(name): run.part(section, name) for name in section.tree}
    return {str(name): value for name, value in section.entries.items()} if isinstance(section, Table) else {}


def _naming(run: Execution, registry: str, section: Mapping[str, Value]) -> str:
    """The name under which a section says its class: what stands there is registered."""
    entries = run.index.registries[registry]
    texts = {name: run.force(value) for name, value in section.items()}
    known = [
        name
        for name, text in texts.items()
        if isinstance(text, Constant) and isinstance(text.value, str) and text.value.lower() in entries
    ]
    usual = next((name for name in KINDS if name in section), "")
    return usual if usual or len(known) != 1 else known[0]


def _hands_on(index: Index, method: str) -> bool:
    """Whether a method of this name in the program takes any arguments behind the first, to hand them on."""
    own = (cls.methods[method] for cls in index.classes if method in cls.methods)
    return any(one.node.args.vararg is not None for one in own)
