"""The Hydra trees among some files, and the config of each that a run was composed from."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import yaml_settings
from stethoscope.recipe._files import Files, Opened, text_of
from stethoscope.recipe._python.constants import called_name
from stethoscope.recipe.hydra import compose
from stethoscope.recipe.hydra_overrides import Override, overrides_in, overrides_of
from stethoscope.recipe.launchers import Started
from stethoscope.run import Program, Setting
from stethoscope.run.folder import Entry

MOST_FILES = 500  # looked into for a list of defaults
RECORD_FOLDER = ".hydra"
USUAL = ("config", "train", "main", "default", "defaults")  # names of primary configs, most usual first

_ENDINGS = (".yaml", ".yml")
_DEFAULTS = re.compile(
    r"^defaults:[ \t]*(?:#[^\n]*)?(?:\n[ \t]*(?:#[^\n]*)?)*\n?[ \t]*(?:-|\[)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Record:
    """What Hydra wrote when a run started: the overrides it was given and the primary config's name."""

    overrides: tuple[Override, ...]
    name: str
    file: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder of configs, and those of its own files that compose others."""

    folder: Path
    shown: str
    primaries: tuple[str, ...]

    def holds(self, entry: Entry) -> bool:
        """Whether a file is one of the tree's."""
        return self.folder in entry.path.parents


def record_in(files: Iterable[Entry]) -> Record | None:
    """The record of a run, where there is exactly one."""
    entries = [entry for entry in files if entry.path.parent.name == RECORD_FOLDER]
    if len({entry.path.parent for entry in entries}) != 1:
        return None
    found = {entry.name: entry for entry in entries}
    overrides: tuple[Override, ...] = ()
    name, file = "", ""
    try:
        if (entry := found.get("overrides.yaml")) is not None:
            overrides = overrides_in(text_of(entry.path, entry.file), entry.file)
            file = entry.file
        if (entry := found.get("hydra.yaml")) is not None:
            settings = yaml_settings.read(text_of(entry.path, entry.file), entry.file)
            given = {setting.dotted: setting.value for setting in settings}
            name = str(given.get("hydra.job.config_name") or "")
    except UnreadableFile:
        return None
    return Record(overrides, name, file)


def trees_in(files: Iterable[Entry]) -> tuple[Tree, ...]:
    """The Hydra trees among some files: the topmost folders with a config that lists defaults."""
    lists: dict[Path, list[Entry]] = {}
    for entry in [e for e in files if e.name.endswith(_ENDINGS)][:MOST_FILES]:
        if entry.path.parent.name != RECORD_FOLDER and _lists_defaults(entry):
            lists.setdefault(entry.path.parent, []).append(entry)
    top = [folder for folder in lists if not any(other in folder.parents for other in lists)]
    return tuple(
        Tree(
            folder, os.path.dirname(lists[folder][0].file), tuple(entry.path.stem for entry in lists[folder])
        )
        for folder in top
    )


def _lists_defaults(entry: Entry) -> bool:
    try:
        return entry.size < 1 << 16 and bool(_DEFAULTS.search(text_of(entry.path, entry.file)))
    except UnreadableFile:
        return False


def primary_of(
    tree: Tree, record: Record | None, started: Started | None, program: Program | None
) -> str | None:
    """The config that a run composed: as recorded, as launched, as the program says, or the usual one."""
    told = [
        *([record.name] if record is not None else []),
        *_launched(started),
        *(name for name in _programmed(program)),
    ]
    for name in told:
        stem = name.removesuffix(".yaml").removesuffix(".yml")
        if stem and any((tree.folder / f"{stem}{ending}").is_file() for ending in _ENDINGS):
            return stem
    if len(tree.primaries) == 1:
        return tree.primaries[0]
    return next((name for name in USUAL if name in tree.primaries), None)


def _launched(started: Started | None) -> Iterator[str]:
    for setting in started.launch.settings if started is not None else ():
        if setting.dotted in {"config_name", "cn"} and isinstance(setting.value, str) and setting.known:
            yield setting.value


def _programmed(program: Program | None) -> Iterator[str]:
    """`@hydra.main(config_path="conf", config_name="train")`."""
    for source in program or ():
        if "hydra" not in source.text:
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and called_name(node.func).rpartition(".")[2] in {
                "main",
                "compose",
            }:
                for keyword in node.keywords:
                    if keyword.arg == "config_name" and isinstance(keyword.value, ast.Constant):
                        yield str(keyword.value.value)


def composed(
    tree: Tree, name: str, record: Record | None, started: Started | None
) -> tuple[tuple[Setting, ...], tuple[Opened, ...], tuple[str, ...]]:
    """The settings of a tree, the files they come from, and the configs that are not there."""
    overrides: Sequence[Override] = ()
    if record is not None:
        overrides = record.overrides
    elif started is not None:
        overrides = tuple(overrides_of(started.launch.words))
    files = Files()
    made = compose(tree.folder, tree.shown, name, overrides, files)
    return made.settings, tuple(files.opened.values()), made.missing
