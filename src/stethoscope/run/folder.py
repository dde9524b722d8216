"""What a folder holds: a walk that ends, whatever it meets, and says what it passed over."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.run.black_box import is_black_box
from stethoscope.run.log import Unread
from stethoscope.run.proof import RESULT, holds_trials, is_trial

MAX_DEPTH = 8
MAX_FILES = 20_000  # of one walk; a run has hundreds, a data set beside it may have millions
MAX_ENTRIES = 5_000  # of one folder

LINK_OUT = "a link out of the folder; not followed"

# Folders that never hold a run's logs, settings or source.
NOT_WALKED = frozenset(
    {
        *("node_modules", "site-packages", "dist-packages", "__pycache__", "__MACOSX", "lost+found"),
        *("venv", "env", "virtualenv", "build", "dist", "htmlcov", "media", "egg-info"),
    }
)
# Hidden folders that do hold them.
WALKED_THOUGH_HIDDEN = frozenset({".hydra"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file: where to open it, the name to show, its size, and when it was last changed."""

    path: Path
    file: str
    size: int
    changed: float

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Folder:
    """The files below a folder, in order, its sub-folders, and what was passed over.

    `unread` is what somebody may miss; `passed` are folders that never hold a log, settings or source of a
    run, such as Guard's black boxes and the runs of a trial.
    """

    files: tuple[Entry, ...] = ()
    folders: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()
    passed: tuple[str, ...] = ()


def walk(
    root: Path, shown: str, max_depth: int = MAX_DEPTH, wanted: Callable[[str], bool] | None = None
) -> Folder:
    """The regular files below a folder; pipes, loops, crowds and links out of it are noted and left alone.

    A folder that is itself given as a link is followed: whoever names it means what it leads to. Where
    `wanted` is given, only files of such names are listed.
    """
    found = _Walk(os.path.realpath(root), wanted)
    _visit(root, shown, max_depth, found)
    return Folder(tuple(found.files), tuple(found.folders), tuple(found.unread), tuple(found.passed))


def entry_of(path: Path, shown: str) -> Entry:
    """One file as an entry; raises OSError where it cannot be looked at."""
    status = path.stat()
    return Entry(path, shown, status.st_size, status.st_mtime)


@dataclass(slots=True)
class _Walk:
    root: str  # without links
    wanted: Callable[[str], bool] | None = None
    files: list[Entry] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    seen: set[tuple[int, int]] = field(default_factory=set)  # folders, so that a loop of links ends


def _visit(folder: Path, shown: str, depth: int, found: _Walk) -> None:
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in found.seen:
            return
        found.seen.add((status.st_dev, status.st_ino))
        entries = sorted(_scan(folder, shown, found), key=_order)
    except OSError as problem:
        found.unread.append(Unread(shown, _reason(problem)))
        return
    for entry in entries:
        if len(found.files) >= MAX_FILES:
            found.unread.append(Unread(shown, f"the walk ended here, after {MAX_FILES:,} files"))
            return
        _meet(entry, os.path.join(shown, entry.name), depth, found)


def _order(entry: os.DirEntry[str]) -> tuple[bool, bool, str]:
    # A folder before the links to it, so that it is known by its own name.
    return entry.is_dir(), entry.is_symlink(), entry.name


def _scan(folder: Path, shown: str, found: _Walk) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_ENTRIES:
                found.unread.append(
                    Unread(shown, f"more than {MAX_ENTRIES:,} entries; the others are not looked at")
                )
                return
            yield entry


def _meet(entry: os.DirEntry[str], shown: str, depth: int, found: _Walk) -> None:
    try:
        if found.wanted is not None and not entry.is_dir() and not found.wanted(entry.name):
            return
        status = entry.stat()
    except OSError as problem:
        found.unread.append(Unread(shown, "a link to nothing" if entry.is_symlink() else _reason(problem)))
        return
    if entry.is_symlink() and not _leads_inside(entry.path, found.root):
        found.unread.append(Unread(shown, LINK_OUT))
        return
    if stat.S_ISDIR(status.st_mode):
        if _walked(entry.name) and not is_black_box(entry.path) and not holds_trials(entry.path):
            found.folders.append(Path(entry.path))
            if depth > 0:
                _visit(Path(entry.path), shown, depth - 1, found)
            else:
                found.unread.append(Unread(shown, "nested too deep; not looked into"))
        else:
            found.passed.append(shown)
    elif entry.name == RESULT and is_trial(entry.path):
        found.passed.append(shown)
    elif stat.S_ISREG(status.st_mode):
        found.files.append(Entry(Path(entry.path), shown, status.st_size, status.st_mtime))
    else:
        found.unread.append(Unread(shown, "not a regular file"))


def _leads_inside(link: str, root: str) -> bool:
    target = os.path.realpath(link)
    return target == root or target.startswith(os.path.join(root, ""))


def _walked(name: str) -> bool:
    if name.startswith("."):
        return name in WALKED_THOUGH_HIDDEN
    return name not in NOT_WALKED and not name.endswith(".egg-info")


def _reason(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()
