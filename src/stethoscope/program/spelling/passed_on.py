"""The names that were taken out of a tree because they only pass a value on.

Facts read `crit(net(x), y)` where the file has `made = net(x)` and `crit(made, y)`. What people are shown has
the name, and so has what is written into their files where the value is another each time it is computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_RECORD = "_passed_on"
# What gives something else when it is asked again, by the last part of its name.
_ONCE = re.compile(
    r"next|pop|read\w*|rand\w*|normal\w*|uniform\w*|\w*sample\w*|draw\w*|dropout\w*|step|choice"
)


@dataclass(frozen=True, slots=True, eq=False)
class PassedOn:
    """A name, the value that stands in its place, and the lines of the statement that reads it."""

    name: str
    value: ast.expr
    first_line: int
    last_line: int


def record(tree: ast.Module, passed: Iterable[PassedOn]) -> None:
    """Keep with a tree which names were taken out of it, in the order in which it was done."""
    setattr(tree, _RECORD, tuple(passed))


def as_written(text: str, tree: ast.Module, lines: tuple[int, int], only_once: bool = False) -> str:
    """A text about some lines of a file, with the names that the file has there.

    With `only_once`, a value that is the same however often it is computed stays written out.
    """
    first_line, last_line = lines
    taken: tuple[PassedOn, ...] = getattr(tree, _RECORD, ())
    for one in reversed(taken):  # a value may hold one that was passed on before
        is_near = one.first_line <= last_line and first_line <= one.last_line
        if is_near and any(_is_meant(call, only_once) for call in _calls(one.value)):
            value = re.escape(ast.unparse(one.value))
            text = re.sub(rf"(?<![\w.]){value}(?![\w(])", one.name, text)
    return text


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    return (node for node in ast.walk(value) if isinstance(node, ast.Call))


def _is_meant(call: ast.Call, only_once: bool) -> bool:
    name = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    return not only_once or _ONCE.fullmatch(name) is not None
