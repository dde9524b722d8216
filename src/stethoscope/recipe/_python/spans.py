"""Where the parts of a Python text stand, in characters: `ast` counts columns in bytes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from stethoscope.recipe._text import Text
from stethoscope.run import Where


@dataclass(frozen=True)
class Spans:
    """The offsets of a parsed text."""

    source: Text

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *(at + 1 for at in self.source.newlines)]

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The first character of a node and the one behind it."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line, counted from 1, and a column in bytes."""
        start = self.starts[line - 1]
        text = self.source.text
        if text.isascii():
            return start + column
        end = self.starts[line] if line < len(self.starts) else len(text)
        return start + len(
            text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
        )

    def text(self, node: ast.expr | ast.stmt) -> str:
        """A node as it is written."""
        return self.source.text[slice(*self.of(node))]

    def where(self, node: ast.expr | ast.stmt) -> Where:
        """The address of a node."""
        return Where(self.source.file, line=node.lineno + self.source.first_line - 1)
