"""Logs that are kept in many files, one for each signal, and make sense only together.

A format module that knows such a store holds `bundle(path) -> Path | None`, the folder that a file belongs to
judging by its path alone, `read_bundle(root, files, shown) -> Log`, and KEPT_IN, the name inside that folder
under which the whole is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from stethoscope.logs import formats
from stethoscope.run.file_times import LogFile
from stethoscope.run.folder import Entry


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of one store of one run, and the format module that reads them together."""

    root: Path
    reader: ModuleType
    files: tuple[Entry, ...]

    @property
    def shown(self) -> str:
        """The name to show for the folder."""
        first = self.files[0]
        shown = first.file
        for _ in first.path.relative_to(self.root).parts:
            shown = os.path.dirname(shown)
        return shown or "."


def bundled(entries: Iterable[Entry]) -> tuple[list[Bundle], list[Entry]]:
    """The bundles among some files, and the files that stand for themselves."""
    found: dict[tuple[Path, ModuleType], list[Entry]] = {}
    alone = []
    for entry in entries:
        for reader in _bundlers():
            root = reader.bundle(entry.path)
            if root is not None:
                found.setdefault((root, reader), []).append(entry)
                break
        else:
            alone.append(entry)
    return [Bundle(root, reader, tuple(files)) for (root, reader), files in found.items()], alone


def read_bundle(bundle: Bundle) -> LogFile:
    """Read the files of a bundle as one log; raises UnreadableFile where they hold none."""
    log = bundle.reader.read_bundle(bundle.root, [entry.path for entry in bundle.files], bundle.shown)
    size = sum(entry.size for entry in bundle.files)
    changed = max(entry.changed for entry in bundle.files)
    # The entry lies in the run's folder, as any log does.
    inside = bundle.reader.KEPT_IN
    whole = Entry(bundle.root / inside, os.path.join(bundle.shown, inside), size, changed)
    return LogFile(log, whole, bundle.files)


@cache
def _bundlers() -> tuple[ModuleType, ...]:
    return tuple(reader for reader in formats() if hasattr(reader, "bundle"))
