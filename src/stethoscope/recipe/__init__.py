"""read: settings files -> settings with file and line. One file per config format, found by folder.

A format module holds SYNTAX (its name), ENDINGS (file name endings) and `read(text, file, first_line)`,
which gives the settings in the order written. Where a file may build on others, `read_file(opened, files)`
reads them all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
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
            return _with_columns(module.read(text, file, first_line), text, file, first_line)
    raise UnreadableFile(f"{file}: no reader for {syntax} settings")


def read_settings_file(opened: Opened, syntax: str, files: Files) -> tuple[Setting, ...]:
    """The settings of a file together with those of the files it builds on, which `files` remembers."""
    for module in _formats():
        if syntax == module.SYNTAX and hasattr(module, "read_file"):
            return _with_columns(module.read_file(opened, files), opened.text, opened.file, 1)
    return read_settings(opened.text, opened.file, syntax)


def _with_columns(
    settings: tuple[Setting, ...], text: str, file: str, first_line: int
) -> tuple[Setting, ...]:
    """The settings with the columns of their values, where these stand on the line that is named."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(at: int) -> tuple[int, int]:
        row = bisect_right(starts, at)
        return row + first_line - 1, at - starts[row - 1] + 1

    def placed(setting: Setting) -> Setting:
        where = setting.where
        if setting.span is None or where.file != file or where.column is not None:
            return setting
        (line, column), end = place(setting.span[0]), place(setting.span[1])
        return (
            replace(setting, where=replace(where, column=column, end=end)) if line == where.line else setting
        )

    return tuple(map(placed, settings))


def syntax_of(name: str) -> str | None:
    """The syntax a file name announces, or None where it is no settings file."""
    lowered = name.lower()
    return next((str(m.SYNTAX) for m in _formats() if lowered.endswith(tuple(m.ENDINGS))), None)


@cache
def _formats() -> tuple[ModuleType, ...]:
    return tuple(module for module in modules_in(__name__) if hasattr(module, "ENDINGS"))
