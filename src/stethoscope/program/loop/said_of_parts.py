"""Whether a class says something of its weights, and of which of its parts.

`for p in self.target.parameters(): p.requires_grad = False` keeps the target as it is and says nothing of the
network beside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.syntax import all_nodes

ANY: frozenset[str] = frozenset()  # it is not said which part is meant


def is_said_of(cls: ast.ClassDef, said: re.Pattern[str], part: str = "") -> bool:
    """Whether a statement of a class has these words and may mean `part`; any part where none is given."""
    if not said.search(ast.unparse(cls)):
        return False
    methods = frozenset(node.name for node in cls.body if isinstance(node, ast.FunctionDef))
    meant = _Meant(said, methods)
    return any(not part or parts is ANY or part in parts for parts in meant.below(cls, ANY))


class _Meant:
    """The parts that the statements with some words name; methods may mean any part."""

    def __init__(self, said: re.Pattern[str], methods: frozenset[str]) -> None:
        self.said = said
        self.methods = methods

    def below(self, node: ast.AST, around: frozenset[str]) -> Iterator[frozenset[str]]:
        """What each statement below a node means.

        A loop says for its body what it runs over; a block and a decorator speak of all that is in them.
        """
        for statement in (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)):
            if not _holds_statements(statement) or any(map(self._says, _opening(statement))):
                if self._says(statement):
                    yield self._parts(statement) or around
                continue
            over = self._parts(statement.iter) if isinstance(statement, ast.For) else ANY
            yield from self.below(statement, over or around)

    def _says(self, node: ast.AST) -> bool:
        return bool(self.said.search(ast.unparse(node)))

    def _parts(self, node: ast.AST) -> frozenset[str]:
        named = frozenset(
            one.attr
            for one in all_nodes(node, ast.Attribute)
            if isinstance(one.value, ast.Name) and one.value.id == "self"
        )
        return ANY if named & self.methods else named


def _holds_statements(statement: ast.stmt) -> bool:
    return any(isinstance(child, ast.stmt) for child in ast.iter_child_nodes(statement))


def _opening(statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement says of everything inside it: the contexts of a block, the head of a function."""
    match statement:
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from items
        case ast.FunctionDef(decorator_list=decorators, args=arguments):
            yield from (*decorators, arguments)
        case ast.If(test=test) | ast.While(test=test):
            yield test
