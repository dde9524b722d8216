"""The parts of a training that do not break: losses, norms, averages, schedules, curricula, checkpoints.

    from stethoscope.blocks import EMA, LossBalancer, schedule

Each file of this folder is one block: pure functions first, a thin class or module second, and a docstring
that is the block's page. What a file defines in public can be imported from here. The files are found by
folder, and torch is imported when a name is asked for, not before.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any


def __getattr__(name: str) -> Any:
    """Import the file that defines a name, the first time it is asked for."""
    if name == "__all__":
        return sorted(_homes())
    # Names with underscores are asked for by the import system itself; no file is read for them.
    home = None if name.startswith("_") else _homes().get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of all blocks, beside what every module has."""
    return sorted({*globals(), *_homes()})


@cache
def _homes() -> dict[str, str]:
    """The file that defines each public class and function, read without running it."""
    return {
        name: file.name.removesuffix(".py")
        for file in sorted(files(__name__).iterdir(), key=lambda one: one.name)
        if file.name.endswith(".py") and not file.name.startswith("_")
        for name in _defined(file.read_text(encoding="utf-8"))
    }


def _defined(source: str) -> list[str]:
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]


class _Package(ModuleType):
    """This package, in which a name that a file shares with what it defines is the thing, not the file."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a submodule binds it here, also over a function of the same name.
        super().__setattr__(name, _named_like(value, name) if isinstance(value, ModuleType) else value)


def _named_like(module: ModuleType, name: str) -> object:
    """What a file defines under its own name; the file itself where there is no such thing."""
    inner = vars(module).get(name)
    return inner if getattr(inner, "__module__", None) == module.__name__ else module


sys.modules[__name__].__class__ = _Package
