"""The trainings that shell scripts start: the program that each runs, and all the settings it is given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stethoscope.lint.files import Files
from stethoscope.recipe import in_use as settings_in_use
from stethoscope.recipe.launchers import Started, launchers_in
from stethoscope.run import Program, Recipe, Source, Unread
from stethoscope.run.folder import Entry


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """A training that a script starts: the number of its program, None for one that is elsewhere."""

    program: int | None
    recipe: Recipe

    @property
    def files(self) -> frozenset[str]:
        """The files whose settings it has."""
        return frozenset(config.file for config in self.recipe.files)


def launched(
    files: Files, programs: Sequence[Program], own: Mapping[int, Sequence[Entry]], unread: list[Unread]
) -> list[Launched]:
    """Every training that the scripts start, each combination of settings once.

    `own` are the settings files that a program takes where its command line names none.
    """
    found: list[Launched] = []
    seen: set[tuple[int | None, str]] = set()
    broken: list[Unread] = []
    ordered = sorted(files.launchers, key=lambda e: (e.file not in files.asked, len(e.path.parts), e.file))
    for started in launchers_in(ordered, broken):
        number, script = _run(started, programs, files.root)
        if number is None and started.entry.file not in files.asked:
            continue
        recipe = _recipe(started, number, script, programs, own, files, broken)
        if recipe is None or not recipe.files:
            continue
        said = repr([(s.dotted, s.value) for s in recipe.settings])
        told = (number, f"{started.entry.file if started.launch.exports else ''} {said}")
        if told not in seen:
            seen.add(told)
            found.append(Launched(number, recipe))
    unread.extend(one for one in broken if one.file in files.asked)
    return found


def _recipe(
    started: Started,
    number: int | None,
    script: Source | None,
    programs: Sequence[Program],
    own: Mapping[int, Sequence[Entry]],
    files: Files,
    unread: list[Unread],
) -> Recipe | None:
    """What a command line gives, over the files that it names or else over those that are the program's."""
    launch = started.launch
    named = [
        entry
        for entry in files.settings_files
        if any(settings_in_use.leads_to(name, entry) for name in launch.named)
    ]
    program = programs[number] if number is not None else None
    used = named or (own.get(number, ()) if number is not None else ())
    if script is not None:
        started = replace(started, launch=replace(launch, script=script.file))
    around = settings_in_use.Surroundings(files.root, tuple(used), program=program)
    recipe, problems = settings_in_use.launched_recipe(started, around)
    unread.extend(problems)
    return recipe


def _run(started: Started, programs: Sequence[Program], root: Path) -> tuple[int | None, Source | None]:
    """The program that a launcher starts and its script: seen from the launcher, the project, or near by."""
    wanted = started.launch.script.replace("\\", "/")
    candidates = [
        (number, source)
        for number, program in enumerate(programs)
        for source in program
        if is_called(source.file, source.module, wanted)
    ]
    for folder in (started.entry.path.parent, root):
        place = os.path.normpath(folder / wanted)
        for number, source in candidates:
            if os.path.abspath(source.file) == place:
                return number, source
        if os.path.exists(place):
            return None, None  # it starts that one
    near = [(n, source) for n, source in candidates if _are_related(started.entry.path, Path(source.file))]
    return near[0] if len(near) == 1 else (None, None)


def _are_related(launcher: Path, script: Path) -> bool:
    """Whether one of two files lies in or below the other's folder, as `scripts/run.sh` and `train.py`."""
    folders = Path(os.path.abspath(launcher)).parent, Path(os.path.abspath(script)).parent
    return folders[0] in (folders[1], *folders[1].parents) or folders[1] in folders[0].parents


def is_called(file: str, module: str, script: str) -> bool:
    """Whether a source file may be the script, or the module, that a command names."""
    if script.endswith(".py"):
        parts = [part for part in script.split("/") if part not in {"", ".", ".."} and "$" not in part]
        return Path(file).parts[-len(parts) :] == tuple(parts)
    names = (script, f"{script}.__main__")
    return module in names or ("." in script and any(module.endswith(f".{name}") for name in names))


def scripts_asked_about(files: Files) -> frozenset[str]:
    """What the launchers that were asked about start: what they set is said of these programs."""
    own = [entry for entry in files.launchers if entry.file in files.asked]
    return frozenset(started.launch.script.replace("\\", "/") for started in launchers_in(own, []))
