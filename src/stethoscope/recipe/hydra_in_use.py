"""The Hydra trees among some files, and the config of each that a run was composed from."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
from stethoscope.run.repository import is_project

MOST_FILES = 500  # looked into for a list of defaults
LARGEST = 1 << 16  # bytes of a config that lists defaults; a longer file is data
DEEPEST = 4  # folders that a config may lie below the top of its tree
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
        if entry.path.parent.name != RECORD_FOLDER and lists_defaults(entry):
            lists.setdefault(entry.path.parent, []).append(entry)
    top = [folder for folder in lists if not any(other in folder.parents for other in lists)]
    return tuple(
        Tree(
            folder, os.path.dirname(lists[folder][0].file), tuple(entry.path.stem for entry in lists[folder])
        )
        for folder in top
    )


def lists_defaults(entry: Entry) -> bool:
    """Whether a config composes others."""
    return entry.size < LARGEST and _has_list(entry.path)


def _has_list(path: Path) -> bool:
    try:
        return bool(_DEFAULTS.search(text_of(path, path.name)))
    except UnreadableFile:
        return False


def lies_in_tree(path: Path) -> bool:
    """Whether a config belongs to a Hydra tree: it, one beside it or one above it lists defaults."""
    for folder in list(path.absolute().parents)[:DEEPEST]:
        try:
            if _holds_a_list(folder, folder.stat().st_mtime_ns):
                return True
        except OSError:
            return False
        if is_project(folder):
            return False
    return False


@lru_cache(maxsize=1000)
def _holds_a_list(folder: Path, changed: int) -> bool:
    """Whether a folder, as it is since a moment, has a config that lists defaults."""
    del changed
    with os.scandir(folder) as found:
        names = [entry.name for _, entry in zip(range(MOST_FILES), found, strict=False)]
    paths = [folder / name for name in names if name.endswith(_ENDINGS)]
    return any(path.stat().st_size < LARGEST and _has_list(path) for path in paths)


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
