"""The modules in a folder: being a file there is the registration."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules_in(package: str) -> Iterator[ModuleType]:
    """Import every module of a package, sub-folders included, in alphabetical order.

    Names that begin with an underscore are a folder's private helpers and are passed over.
    """
    parent = import_module(package)
    for found in sorted(iter_modules(parent.__path__), key=lambda module: module.name):
        if found.name.startswith("_"):
            continue
        name = f"{package}.{found.name}"
        if found.ispkg:
            yield from modules_in(name)
        else:
            yield import_module(name)


def spoken_name(module: ModuleType) -> str:
    """The name people use for what a module holds: `loss_scale_collapse` is loss-scale-collapse."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def summary(module: ModuleType) -> str:
    """The first line of a module's documentation."""
    return (module.__doc__ or "").strip().partition("\n")[0].strip()
