"""The file that a person keeps, of which a run holds a copy."""

from __future__ import annotations

import os
from pathlib import Path

from stethoscope.recipe.in_use import MAX_BYTES, is_record
from stethoscope.run import Run
from stethoscope.run.folder import Entry, walk

DEEPEST = 4  # folders below the source in which settings are kept


def original_of(file: str, text: str, run: Run) -> str | None:
    """The settings file of the project that a run's copy was made of: of the same name, with the same text.

    None where the source of the run is not at hand, or the file is no copy, or several could be its original.
    """
    program = run.program
    if program is None or not program.maintained or not _is_of_run(file, run):
        return None
    root = Path(program.root or ".")
    name = os.path.basename(file)
    found = walk(root, program.root, DEEPEST, lambda other: other == name).files
    same = [entry for entry in found if _is_kept(entry, root, run) and _reads(entry, text)]
    return same[0].file if len(same) == 1 else None


def _is_of_run(file: str, run: Run) -> bool:
    """Whether a file lies in the folder of the run, and that is not where its source is."""
    home = os.path.realpath(run.path)
    home = home if os.path.isdir(home) else os.path.dirname(home)
    if run.program is not None and _is_below(os.path.realpath(run.program.root or "."), home):
        return False
    return _is_below(os.path.realpath(file), home)


def _is_kept(entry: Entry, root: Path, run: Run) -> bool:
    return not is_record(entry, root) and not _is_of_run(str(entry.path), run)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _reads(entry: Entry, text: str) -> bool:
    if entry.size > MAX_BYTES:
        return False
    try:
        stored = entry.path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return stored.replace("\r\n", "\n").replace("\r", "\n") == text
