"""read: the training source, parsed and never executed -> facts. One file per fact.

A fact module holds a frozen class and a function that finds it in a `Program`.
"""

from __future__ import annotations

import ast
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.run import Source

__all__ = ["read_source"]


def read_source(path: Path, file: str, module: str) -> Source:
    """Parse one Python file."""
    try:
        text = path.read_text(encoding="utf-8")
        return Source(file, module, text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as problem:
        raise UnreadableFile(f"{file}: not valid Python: {problem}") from None
