"""What each framework's settings may be called: one file per framework, found by folder.

A module holds FRAMEWORK (its name), `recognise(keys)` (whether settings with these dotted keys are the
framework's), SECTIONS (a section, `*` for any name, to its keys; sections not listed are free-form), SINCE
(dotted key -> the change that introduced it), FORKS (dotted key -> who has it) and STRICT (an unknown key
stops the run at its start).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in

__all__ = ["framework_of"]


def framework_of(keys: Collection[str]) -> ModuleType | None:
    """The framework whose settings have these dotted keys, where there is one."""
    return next((module for module in _frameworks() if module.recognise(keys)), None)


@cache
def _frameworks() -> tuple[ModuleType, ...]:
    return tuple(module for module in modules_in(__name__) if hasattr(module, "FRAMEWORK"))
