"""The training source, parsed and never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.run.where import Where


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One Python file: its text, its syntax tree, and its dotted module name within the root."""

    file: str
    module: str
    text: str
    tree: ast.Module

    def where(self, node: ast.AST) -> Where:
        """The address of a node."""
        line = getattr(node, "lineno", None)
        if line is None:
            return Where(self.file, line=1)
        column = _column(self.text, line, getattr(node, "col_offset", 0))
        last, behind = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        end = (last, _column(self.text, last, behind)) if last is not None and behind is not None else None
        return Where(self.file, line=line, column=column, end=end)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The source files that a run used. `origin` is "given", "run", "snapshot" or "repository".

    `maintained` is false for a snapshot kept with a run; `changed_after_start` is None where unknown.
    `note` says what a reader should know, such as the files changed since.
    """

    root: str
    sources: tuple[Source, ...]
    origin: str = "run"
    maintained: bool = True
    changed_after_start: bool | None = None
    note: str = ""

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def source(self, file: str) -> Source | None:
        """The source of this file name."""
        return next((source for source in self.sources if source.file == file), None)


def _column(text: str, line: int, offset: int) -> int:
    """The column, in characters from 1, of an offset that the parser counts in UTF-8 bytes."""
    if text.isascii():
        return offset + 1
    lines = _lines(text)
    written = lines[line - 1] if line <= len(lines) else ""
    return len(written.encode("utf-8", errors="replace")[:offset].decode("utf-8", errors="replace")) + 1


@lru_cache(maxsize=64)  # addresses are asked for file by file
def _lines(text: str) -> list[str]:
    # The parser ends lines at these and, unlike str.splitlines, at no other character.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
