"""read: settings files -> settings with file and line. One file per config format, found by folder.

A format module holds SYNTAX (its name), ENDINGS (file name endings) and `read(text, file, first_line)`,
which gives the settings in the order written. Where a file may build on others, `read_file(opened, files)`
reads them all.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.recipe._files import Files, Opened
from stethoscope.run import Setting

__all__ = ["read_settings", "read_settings_file", "syntax_of"]


def read_settings(text: str, file: str, syntax: str, first_line: int = 1) -> tuple[Setting, ...]:
    """The settings in a text of this syntax; `first_line` is the text's first line in its file."""
    for module in _formats():
        if syntax == module.SYNTAX:
            settings: tuple[Setting, ...] = module.read(text, file, first_line)
            return settings
    raise UnreadableFile(f"{file}: no reader for {syntax} settings")


def read_settings_file(opened: Opened, syntax: str, files: Files) -> tuple[Setting, ...]:
    """The settings of a file together with those of the files it builds on, which `files` remembers."""
    for module in _formats():
        if syntax == module.SYNTAX and hasattr(module, "read_file"):
            settings: tuple[Setting, ...] = module.read_file(opened, files)
            return settings
    return read_settings(opened.text, opened.file, syntax)


def syntax_of(name: str) -> str | None:
    """The syntax a file name announces, or None where it is no settings file."""
    lowered = name.lower()
    return next((str(m.SYNTAX) for m in _formats() if lowered.endswith(tuple(m.ENDINGS))), None)


@cache
def _formats() -> tuple[ModuleType, ...]:
    return tuple(module for module in modules_in(__name__) if hasattr(module, "ENDINGS"))
