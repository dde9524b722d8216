"""Stethoscope finds out what really went wrong with a training run.

>>> from stethoscope import diagnose
>>> diagnose("runs/nano").verdict
'sick'
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stethoscope.diagnose import Diagnosis, diagnose
    from stethoscope.guard import Guard

__version__ = "0.1.0"
__all__ = ["Diagnosis", "Guard", "__version__", "diagnose"]


def __getattr__(name: str) -> Any:
    """Import the line only when it is asked for, so that `stethoscope --help` stays fast."""
    if name in {"Diagnosis", "diagnose"}:
        return getattr(import_module("stethoscope.diagnose"), name)
    if name == "Guard":
        return import_module("stethoscope.guard").Guard
    raise AttributeError(f"module 'stethoscope' has no attribute {name!r}")


class _Package(ModuleType):
    """This package, in which `diagnose` is the function, whoever imported the module of that name first."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a submodule binds it here; the function is the public one.
        super().__setattr__(
            name, value.diagnose if name == "diagnose" and isinstance(value, ModuleType) else value
        )


sys.modules[__name__].__class__ = _Package
