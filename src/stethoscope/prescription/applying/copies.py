"""Mended copies: of everything that a run was read from, or of its settings alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.prescription.applying.plan import Plan
from stethoscope.run import ConfigFile, Run

ENDINGS = {"yaml": ".yaml", "json": ".json", "toml": ".toml", "python": ".py", "shell": ".sh"}
DUMPED = "settings"  # what settings that a log holds are called as a file of their own


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of a copy: its path in there, its content, and the file that it is a copy of."""

    name: str
    content: bytes
    of: str


def copies(run: Run, plan: Plan) -> tuple[Copy, ...]:
    """Every source and settings file that was read, with the plan's changes made."""
    changed = {change.file: change.after for change in plan.changes}
    found: dict[str, Copy] = {}
    files = [source.file for source in run.program] if run.program else []
    for file in files:
        _add(found, _inside(file, run), changed.get(file), file)
    for config in run.recipe.files if run.recipe else ():
        if config.origin != "log":
            _add(found, _inside(config.file, run), changed.get(config.file), config.file)
        elif config.file in changed:
            _add(found, DUMPED + ENDINGS.get(config.syntax, ""), changed[config.file], config.file)
    return tuple(found.values())


def write_into(folder: Path, files: tuple[Copy, ...]) -> None:
    """Write a new folder, whole or not at all; raises UnwritableFile where it cannot be, or is there."""
    target = Path(os.path.abspath(folder))
    if os.path.lexists(target) and (not target.is_dir() or target.is_symlink() or any(target.iterdir())):
        raise UnwritableFile(f"{folder} exists and is not an empty folder; name another one.")
    with _explained(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".stethoscope-", dir=target.parent))
        try:
            for file in files:
                place = part / file.name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.content)
                _keep_rights(file.of, place)
            part.chmod(0o755)
            os.replace(part, target)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def corrected_config(run: Run, plan: Plan) -> Copy | None:
    """The settings file that the plan changes, whole; None where it changes none.

    Where it changes several, it is the one that counts most.
    """
    changed = {change.file: change.after for change in plan.changes}
    for config in run.recipe.files if run.recipe else ():
        if config.file in changed:
            return Copy(_name(config), changed[config.file], config.file)
    return None


def _name(config: ConfigFile) -> str:
    if config.origin == "log":
        return DUMPED + ENDINGS.get(config.syntax, "")
    return os.path.basename(config.file)


def _add(found: dict[str, Copy], name: str, content: bytes | None, of: str) -> None:
    if content is None:
        try:
            content = Path(of).read_bytes()
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise StethoscopeError(f"{of} could not be read: {reason}.") from None
    stem, ending = os.path.splitext(name)
    number = 1
    while name in found and found[name].of != of:
        number += 1
        name = f"{stem}-{number}{ending}"
    found[name] = Copy(name, content, of)


def _inside(file: str, run: Run) -> str:
    """A file's path from the root of the source; its bare name where it lies elsewhere."""
    root = os.path.realpath(run.program.root or ".") if run.program else os.path.dirname(file) or "."
    inside = os.path.relpath(os.path.realpath(file), os.path.realpath(root))
    return os.path.basename(file) if inside.startswith(os.pardir) else inside


def _keep_rights(of: str, place: Path) -> None:
    if os.path.isfile(of) and os.access(of, os.X_OK):
        place.chmod(place.stat().st_mode | 0o111)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{problem.filename or path} could not be written: {reason}.") from problem
