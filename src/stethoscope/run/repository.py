"""The repository a run was made in: the nearest folder above it that looks like a project."""

from __future__ import annotations

import os
from pathlib import Path

MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")
MOST_LEVELS = 5  # experiments/<group>/<name>/<date>/logs is as deep as runs are kept


def is_project(folder: Path) -> bool:
    """Whether a folder is the root of a project."""
    try:
        return any((folder / marker).exists() for marker in MARKERS)
    except OSError:
        return False


def repository_of(folder: Path) -> Path | None:
    """The project a folder lies in, itself left out; never the home directory or the disk's root."""
    home = Path.home()
    # A path such as ../runs/a does not lie in the working directory, though its spelling passes through it.
    whole = Path(os.path.normpath(folder.absolute()))
    for parent in list(whole.parents)[:MOST_LEVELS]:
        if parent in (home, Path(parent.anchor)) or parent in home.parents:
            return None
        if is_project(parent):
            return parent
    return None
