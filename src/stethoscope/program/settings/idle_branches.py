"""Branches that do nothing but print, or find something out that nobody asks for afterwards."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stethoscope.program.likenesses import words
from stethoscope.program.settings.mentions import Mentions, called
from stethoscope.program.settings.telling import only_tells
from stethoscope.program.syntax import walk
from stethoscope.run import Source

# Words in the names of functions that only look something up.
_LOOKING = frozenset(
    {"load", "find", "latest", "last", "newest", "glob", "rglob", "sorted", "max", "min", "len", "str", "int"}
    | {"join", "path", "exists", "isfile", "isdir", "listdir", "list", "read", "open", "stat", "getmtime"}
)


def is_idle(body: Sequence[ast.stmt], source: Source, code: Mentions) -> bool:
    """Whether a branch changes nothing: it tells, or looks up what is not read again."""
    return all(only_tells([one]) or _is_unread(one, source, code) for one in body)


def _is_unread(statement: ast.stmt, source: Source, code: Mentions) -> bool:
    if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Name) for t in statement.targets):
        return False
    if not all(_looks(node) for node in walk(statement.value) if isinstance(node, ast.Call)):
        return False
    scope = code.scope_of(statement)
    if isinstance(scope, ast.Module) or code.is_open(scope):
        return False  # other modules may import it
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return not any(
        code.is_within(spot.node, scope) and not _only_told(spot.node, code)
        for name in names
        for spot in code.names_in(source, name)
    )


def _only_told(node: ast.AST, code: Mentions) -> bool:
    inner: ast.AST | None = node
    while inner is not None and not isinstance(inner, ast.stmt):
        inner = code.parents.get(id(inner))
    return isinstance(inner, ast.Expr) and only_tells([inner])


def _looks(call: ast.Call) -> bool:
    return bool(_LOOKING.intersection(words(called(call).rpartition(".")[2])))
