"""read: settings files -> settings with file and line. One file per config format, found by folder.

A format module holds SYNTAX (its name), ENDINGS (file name endings) and `read(text, file, first_line)`,
which gives the settings in the order written.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.run import Setting

__all__ = ["read_settings", "syntax_of"]


def read_settings(text: str, file: str, syntax: str, first_line: int = 1) -> tuple[Setting, ...]:
    """The settings in a text of this syntax; `first_line` is the text's first line in its file."""
    for module in _formats():
        if syntax == module.SYNTAX:
            settings: tuple[Setting, ...] = module.read(text, file, first_line)
            return settings
    raise UnreadableFile(f"{file}: no reader for {syntax} settings")


def syntax_of(name: str) -> str | None:
    """The syntax a file name announces, or None where it is no settings file."""
    lowered = name.lower()
    return next((str(m.SYNTAX) for m in _formats() if lowered.endswith(tuple(m.ENDINGS))), None)


@cache
def _formats() -> tuple[ModuleType, ...]:
    return tuple(module for module in modules_in(__name__) if hasattr(module, "SYNTAX"))
