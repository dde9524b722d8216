"""The file that a person keeps, of which a run holds a copy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.recipe.in_use import MAX_BYTES, is_record
from stethoscope.run import Run, Setting, Splice
from stethoscope.run.folder import Entry, walk

DEEPEST = 4  # folders below the source in which settings are kept


@dataclass(frozen=True, slots=True)
class Original:
    """A file that is kept, its text, and what is to be changed there; nothing where that was done since."""

    file: str
    text: str
    splices: tuple[Splice, ...]


def original_of(file: str, text: str, splices: Iterable[Splice], run: Run) -> Original | None:
    """The settings file of the project that a run's copy was made of, and the same changes in it.

    It has the same name. Where it reads differently by now, only a setting that is still the same is changed.
    None where the source of the run is not at hand, or the file is no copy, or several could be its original.
    """
    program = run.program
    if program is None or not program.maintained or not _is_of_run(file, run):
        return None
    root = Path(program.root or ".")
    name = os.path.basename(file)
    found = walk(root, program.root, DEEPEST, lambda other: other == name).files
    kept = {entry.file: _text(entry) for entry in found if _is_kept(entry, root, run)}
    same = [one for one, read in kept.items() if read == text]
    if len(same) == 1:
        return Original(same[0], text, tuple(splices))
    if same or len(kept) != 1:
        return None
    (only, read), *_ = kept.items()
    moved = _moved(splices, (file, text), (only, read)) if read is not None else None
    return Original(only, read or "", moved) if moved is not None else None


def _moved(
    splices: Iterable[Splice], copy: tuple[str, str], original: tuple[str, str]
) -> tuple[Splice, ...] | None:
    """The changes of values, each where the original has the setting; None where one is none of a value."""
    try:
        of_run = {setting.span: setting for setting in _settings(*copy)}
        here = {setting.dotted: setting for setting in _settings(*original)}
    except UnreadableFile:
        return None
    moved = []
    for splice in splices:
        then = of_run.get((splice.start, splice.end))
        now = here.get(then.dotted) if then is not None else None
        if then is None or now is None or now.span is None:
            return None
        if now.value == then.value:  # else somebody has changed it since
            moved.append(Splice(original[0], *now.span, splice.text))
    return tuple(moved)


def _settings(file: str, text: str) -> Iterator[Setting]:
    yield from read_settings(text, file, syntax_of(file) or "yaml")


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


def _text(entry: Entry) -> str | None:
    """What a file reads, with plain line ends; None where it is no text that could be settings."""
    if entry.size > MAX_BYTES:
        return None
    try:
        stored = entry.path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    return stored.replace("\r\n", "\n").replace("\r", "\n")
