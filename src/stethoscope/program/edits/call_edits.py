"""Splices inside calls and tables: an argument or entry that is changed, added or given another value."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from stethoscope.program.walk.values import lines_of, span_of
from stethoscope.run import Source, Splice


def replaced(source: Source, node: ast.AST, text: str) -> Splice | None:
    """Another text in the place of an expression."""
    span = span_of(source, node)
    return Splice(source.file, span[0], span[1], text) if span is not None else None


def with_keyword(source: Source, call: ast.Call, name: str, text: str) -> Splice | None:
    """A call told `name=text`: in the place of what it was told, else behind its other arguments."""
    given = next((word.value for word in call.keywords if word.arg == name), None)
    if given is not None:
        return replaced(source, given, text)
    whole = span_of(source, call)
    if whole is None or any(word.arg is None for word in call.keywords):
        return None  # what `**options` hold may name it already
    told = f"{name}={text}"
    arguments: list[ast.AST] = [*call.args, *call.keywords]
    spans = [span for one in arguments if (span := span_of(source, one)) is not None]
    if not spans:
        return Splice(source.file, whole[1] - 1, whole[1] - 1, told)
    end = max(span[1] for span in spans)
    rest = source.text[end : whole[1] - 1]
    while (bracket := re.match(r"\s*\)", rest)) is not None:  # of an argument in brackets of its own
        end, rest = end + len(bracket[0]), rest[len(bracket[0]) :]
    begin = max(span[0] for span in spans)
    return Splice(source.file, end, end, f"{separator(source, begin)}{told}")


def with_entry(source: Source, table: ast.Dict, beside: int, key: str, text: str) -> Splice | None:
    """A table with one more entry behind another one, on a line of its own where the others have theirs."""
    keys = [one for one in table.keys if one is not None]
    if len(keys) < len(table.keys):
        return None  # `**others` may hold it
    value = span_of(source, table.values[beside])
    before = span_of(source, keys[beside])
    if value is None or before is None:
        return None
    entry = f'"{key}": {text}'
    following = span_of(source, keys[beside + 1]) if beside + 1 < len(keys) else None
    if following is not None:  # before the next one, so that comments stay behind what they are about
        return Splice(source.file, following[0], following[0], f"{entry}{separator(source, following[0])}")
    return Splice(source.file, value[1], value[1], f"{separator(source, before[0])}{entry}")


def separator(source: Source, at: int) -> str:
    """A comma, and a new line where what stands at a place begins one."""
    _, starts = lines_of(source)
    line = source.text.count("\n", 0, at)
    blanks = source.text[starts[line] : at]
    return f",\n{blanks}" if not blanks.strip() and blanks else ", "


def name_of_module(imports: Mapping[str, str], full: str) -> str:
    """What a file calls a module, by what it imports; "" where it cannot speak of it."""
    for name, imported in imports.items():
        if full == imported:
            return name
    home = full.partition(".")[0]
    rest = full.partition(".")[2]
    return f"{home}.{rest}" if imports.get(home) == home else ""
