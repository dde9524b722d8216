"""The training source, parsed and never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

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
        return Where(self.file, line=getattr(node, "lineno", 1))


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
