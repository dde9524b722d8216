"""What is to be tried: the edits that a diagnosis prescribes, and those that a person typed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from stethoscope.errors import StethoscopeError
from stethoscope.prescription import Edit as Prescribed
from stethoscope.trials.patching import parsed
from stethoscope.trials.trial import Change, Flag, NewValue, Patch

# Causes whose cure edits what a run is measured by.
OF_YARDSTICK = frozenset(
    {"validation-not-comparable", "metric-wrong", "eval-mode-missing", "wrong-weights-evaluated"}
)
_YARDSTICK_WORD = re.compile(
    r"(?:^|[._/-])(?:val|valid|validation|eval|evaluate|evaluation|test|metrics?)(?:$|[._/-])", re.IGNORECASE
)


def changes_prescribed(edits: Iterable[Prescribed], project: Path) -> tuple[tuple[Change, ...], list[str]]:
    """One change for each remedy, and what to know about them."""
    by_remedy: dict[str, list[Prescribed]] = {}
    notes = []
    for edit in edits:
        inside = _inside(edit.file, project)
        if inside is None:
            notes.append(f"{edit.remedy} is not tried: it edits {edit.file}, which is not in {project}.")
        else:
            by_remedy.setdefault(edit.remedy, []).append(edit)
            if not edit.maintained:
                notes.append(
                    f"{edit.remedy} edits {edit.file}, a record: it acts only if COMMAND reads that."
                )
    return tuple(_change(remedy, of, project) for remedy, of in by_remedy.items()), notes


def change_typed(text: str) -> Change:
    """The change that `--edit KEY=VALUE` or `--edit --flag=VALUE` asks for."""
    name, equals, value = text.partition("=")
    if text.startswith("-"):
        return Change(text.lstrip("-"), (Flag(name, value if equals else None),), f"pass {text}")
    if not equals or not name.strip():
        raise StethoscopeError(f"--edit {text} is no KEY=VALUE, such as train.lr=1e-4 or --lr=1e-4.")
    key = name.strip()
    yardstick = bool(_YARDSTICK_WORD.search(key))
    return Change(text, (NewValue(key, value.strip()),), f"set {key} to {value.strip()}", yardstick=yardstick)


def change_patched(path: Path) -> Change:
    """The change that `--patch FILE` asks for."""
    try:
        diff = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise StethoscopeError(f"{path}: {getattr(problem, 'strerror', None) or problem}.") from None
    try:
        files = [patch.file for patch in parsed(diff)]
    except StethoscopeError as problem:
        raise StethoscopeError(f"{path}: {problem}") from None
    yardstick = any(_YARDSTICK_WORD.search(file) for file in files)
    return Change(path.stem, (Patch(diff),), f"patch {', '.join(files)}", yardstick=yardstick)


def _inside(file: str, project: Path) -> str | None:
    """A file's path inside the project, None where it lies elsewhere."""
    inside = os.path.relpath(os.path.realpath(file), os.path.realpath(project))
    return None if inside.startswith(os.pardir) else inside.replace(os.sep, "/")


def _change(remedy: str, edits: list[Prescribed], project: Path) -> Change:
    cures = tuple(dict.fromkeys(cause for edit in edits for cause in edit.cures))
    patches = tuple(Patch(edit.diff, _inside(edit.file, project) or edit.file) for edit in edits)
    return Change(
        remedy,
        patches,
        f"for {', '.join(cures)}",
        yardstick=any(cause in OF_YARDSTICK for cause in cures),
        causes=cures,
    )
