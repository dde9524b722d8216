"""Paths as a project's tools know them: relative to its root, with forward slashes."""

from __future__ import annotations

import os
from pathlib import Path


def relative_path(file: str, root: Path) -> str:
    """A file's path from the project's root; from the working directory where it lies elsewhere."""
    whole = Path(os.path.abspath(file))
    for base in (root, Path.cwd()):
        if base in whole.parents:
            return whole.relative_to(base).as_posix()
    return Path(file).as_posix()
