"""The project that may be written in: the repository around the files that are to be changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from stethoscope.run import Run
from stethoscope.run.repository import MOST_LEVELS, is_project


def project_around(file: str | os.PathLike[str], run: Run | None = None) -> Path:
    """The repository that a file lies in, or the nearest project, or the folder of the run's source.

    Where there is none of them, it is the file's own folder; never the home directory or the disk's root
    because of what lies in there.
    """
    home = Path(os.path.realpath(file))
    folder = home if home.is_dir() else home.parent
    around = [one for one in (folder, *folder.parents)[: MOST_LEVELS + 1] if not _is_too_much(one)]
    for found in (_first(around, lambda one: (one / ".git").exists()), _first(around, is_project)):
        if found is not None:
            return found
    root = Path(os.path.realpath(run.program.root or ".")) if run is not None and run.program else folder
    return root if is_inside(folder, root) else folder


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, links followed, is a folder or lies below it."""
    whole, base = os.path.realpath(path), os.path.realpath(folder)
    return whole == base or whole.startswith(os.path.join(base, ""))


def _first(folders: list[Path], fits: Callable[[Path], bool]) -> Path | None:
    for folder in folders:
        try:
            if fits(folder):
                return folder
        except OSError:
            continue
    return None


def _is_too_much(folder: Path) -> bool:
    own = Path.home()
    return folder == own or folder in own.parents or folder == Path(folder.anchor)
