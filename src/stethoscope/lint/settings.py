"""What a project asks of lint: `[tool.stethoscope.lint]` in pyproject.toml, `[lint]` in stethoscope.toml.

    [tool.stethoscope.lint]
    select = ["loop", "PRC"]
    ignore = ["SET103"]
    exclude = ["vendored/**"]
    per-file-ignores = { "experiments/*.py" = ["DAT101"] }

Patterns are relative to the folder of the file; the nearest file above the paths counts.
"""

from __future__ import annotations

import fnmatch
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from stethoscope.errors import UnreadableFile
from stethoscope.lint.selection import must_be_known
from stethoscope.trajectory.toml_reading import KEYS as TRAJECTORY

OWN_FILE = "stethoscope.toml"
PYPROJECT = "pyproject.toml"
KEYS = ("select", "ignore", "exclude", "per-file-ignores")


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What to look for and where not to; `file` is where it is written, empty where nothing is."""

    file: str = ""
    folder: Path = field(default_factory=Path)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def excludes(self, path: Path) -> bool:
        """Whether a file is not to be looked at."""
        return any(_matches(path, pattern, self.folder) for pattern in self.exclude)

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """The selectors of the rules that say nothing about a file."""
        return tuple(
            selector
            for pattern, selectors in self.per_file_ignores.items()
            if _matches(path, pattern, self.folder)
            for selector in selectors
        )


def settings_above(folder: Path) -> LintSettings:
    """The settings in the nearest file at or above a folder; raises UnreadableFile where they are wrong."""
    folder = Path(os.path.abspath(folder))
    for place in (folder, *folder.parents):
        for name, section in ((OWN_FILE, ("lint",)), (PYPROJECT, ("tool", "stethoscope", "lint"))):
            found = _read(place / name, section)
            if found is not None:
                return found
    return LintSettings()


def _read(path: Path, section: Sequence[str]) -> LintSettings | None:
    """The settings of one file, or None where it has no such section."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    shown = os.path.relpath(path)
    try:
        table: Any = tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        if path.name == PYPROJECT and b"stethoscope" not in content:
            return None  # somebody else's trouble
        raise UnreadableFile(f"{shown}: not valid TOML: {problem}") from None
    for depth, name in enumerate(section):
        own = section[depth - 1] == "stethoscope" if depth else path.name == OWN_FILE
        if own and isinstance(table, dict):
            # The course that runs are held to may stand in the same file.
            beside = TRAJECTORY["the file"] if path.name == OWN_FILE and "schema" in table else ()
            _must_know(table, (name, *beside), shown, ".".join(section[:depth]))
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    return _settings(table, shown, path.parent, ".".join(section))


def _settings(table: Any, file: str, folder: Path, section: str) -> LintSettings:
    if not isinstance(table, dict):
        raise UnreadableFile(f"{file}: [{section}] is a table of settings, not {table!r}.")
    _must_know(table, KEYS, file, section)
    select, ignore, exclude = (_texts(table, name, file, section) for name in ("select", "ignore", "exclude"))
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise UnreadableFile(
            f'{file}: {section}.per-file-ignores maps patterns to rules: "train/*.py" = [...].'
        )
    where = f"{section}.per-file-ignores"
    ignores = {pattern: _texts(per_file, pattern, file, where) for pattern in per_file}
    must_be_known(select, f"{file}: select", to_select=True)
    must_be_known((*ignore, *(one for each in ignores.values() for one in each)), f"{file}: ignore")
    return LintSettings(file, folder, select, ignore, exclude, ignores)


def _must_know(table: Mapping[str, Any], known: Sequence[str], file: str, section: str) -> None:
    for name in table:
        if name not in known:
            near = get_close_matches(name.replace("_", "-"), (*known, *KEYS), n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            if near and near[0] not in known:
                hint = f"{near[0]} belongs under [{'.'.join(filter(None, (section, *known)))}]."
            raise UnreadableFile(f"{file}: [{section or 'the top level'}] knows no {name}; {hint}")


def _texts(table: Mapping[str, Any], name: str, file: str, section: str) -> tuple[str, ...]:
    given = table.get(name, [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise UnreadableFile(
            f'{file}: {section}.{name} is a list of texts, as in ["LOP101"]; it is {given!r}.'
        )
    return tuple(given)


def _matches(path: Path, pattern: str, folder: Path) -> bool:
    """Whether a pattern names a file, a folder above it, or the name of either."""
    relative = Path(os.path.relpath(path, folder)).as_posix()
    wanted = pattern.strip("/").removeprefix("./").removesuffix("/**")
    parts = relative.split("/")
    heads = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    candidates = heads if "/" in wanted else [*heads, *parts]
    return any(fnmatch.fnmatchcase(candidate, wanted.replace("**/", "*")) for candidate in candidates)
