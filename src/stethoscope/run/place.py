"""Where a run is kept: a folder, a file, several of them, or standard input."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from stethoscope.errors import NothingToRead
from stethoscope.run.folder import Entry, Folder, entry_of, walk

STDIN = "-"
SHOWN_STDIN = "<stdin>"
MOST_STDIN_BYTES = 8 << 30
BESIDE = 2  # folders deep around a named log in which its settings and source are looked for

Where = Path | str


@dataclass(frozen=True, slots=True)
class Place:
    """The files of a run. `given` are those that were named one by one, where no folder was named.

    `several` says that more than one path was named; they may turn out to be several runs.
    """

    root: Path
    shown: str
    name: str
    folder: Folder
    given: tuple[Entry, ...] = ()
    temporary: Path | None = None
    several: bool = False

    @property
    def files(self) -> tuple[Entry, ...]:
        """What was named: the files given, or all below the folders given."""
        return self.given or self.folder.files

    def clear(self) -> None:
        """Remove what was kept of standard input."""
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)


def place_of(path: Where | Sequence[Where]) -> Place:
    """The place that a path, or several together, lead to; raises NothingToRead where there is none."""
    if isinstance(path, str | Path):
        return _one(path)
    if len(path) == 1:
        return _one(path[0])
    return _together(path)


def _one(path: Where) -> Place:
    shown = str(path)
    if shown == STDIN:
        return _standard_input(sys.stdin.buffer, SHOWN_STDIN)
    target = Path(path)
    try:
        mode = target.stat().st_mode
    except OSError as problem:
        raise NothingToRead(f"{shown}: {(problem.strerror or str(problem)).lower()}.") from None
    except ValueError:
        raise NothingToRead(f"{shown!r} is not a path.") from None
    if stat.S_ISDIR(mode):
        return Place(target, shown, target.resolve().name, walk(target, shown))
    if stat.S_ISREG(mode):
        beside = walk(target.parent, os.path.dirname(shown), max_depth=BESIDE)
        # What cannot be read beside a named file is nobody's question.
        beside = replace(beside, unread=(), passed=())
        return Place(target.parent, shown, target.stem, beside, (entry_of(target, shown),))
    if stat.S_ISFIFO(mode) and target.is_relative_to("/dev"):  # `stethoscope <(zcat train.log.gz)`
        with target.open("rb") as stream:
            return _standard_input(stream, shown)
    raise NothingToRead(
        f"{shown} is neither a file nor a folder. Pass a pipe on standard input: stethoscope - < {shown}"
    )


def _standard_input(stream: BinaryIO, shown: str) -> Place:
    """Keep a stream in a temporary file: readers look at a log's beginning before they read it."""
    with tempfile.NamedTemporaryFile(prefix="stethoscope-", suffix=".log", delete=False) as kept:
        left = MOST_STDIN_BYTES
        while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
            kept.write(chunk)
            left -= len(chunk)
    copy = Path(kept.name)
    return Place(copy, shown, shown, Folder(), (replace(entry_of(copy, shown)),), copy)


def _together(paths: Sequence[Where]) -> Place:
    """Several paths as one place, rooted in the folder that holds them all."""
    if not paths:
        raise NothingToRead("no path was given.")
    if STDIN in map(str, paths):
        raise NothingToRead("- is standard input, which is examined by itself: give no other path beside it.")
    folders = [str(path) for path in paths if os.path.isdir(path)]
    named = [_entry(str(path)) for path in paths if not os.path.isdir(path)]
    around = [os.path.dirname(entry.file) for entry in named] if not folders else []
    walks = [
        *(walk(Path(os.path.abspath(shown)), shown) for shown in dict.fromkeys(folders)),
        *(walk(Path(os.path.abspath(shown)), shown, max_depth=BESIDE) for shown in dict.fromkeys(around)),
    ]
    given = tuple({entry.path: entry for entry in named}.values())
    files = {entry.path: entry for found in walks for entry in found.files}
    files |= {entry.path: entry for entry in given}
    folder = Folder(
        tuple(files.values()),
        tuple(dict.fromkeys(path for found in walks for path in found.folders)),
        tuple(one for found in walks for one in found.unread) if folders else (),
        tuple(one for found in walks for one in found.passed) if folders else (),
    )
    homes = [*folders, *(os.path.dirname(entry.file) for entry in named)]
    root = Path(os.path.commonpath([os.path.abspath(home) for home in homes]))
    shown = os.path.relpath(root) if not any(map(os.path.isabs, homes)) else str(root)
    return Place(root, shown, root.name, folder, () if folders else given, several=len(files) > 1)


def _entry(shown: str) -> Entry:
    place = _one(shown)
    if place.temporary is not None:
        place.clear()
        raise NothingToRead(f"{shown} is a pipe, which is examined by itself: give no other path beside it.")
    return replace(place.given[0], path=Path(os.path.abspath(shown)))
