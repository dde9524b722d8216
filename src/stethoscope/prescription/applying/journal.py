"""Several files written all together or not at all, and put back byte for byte.

PROJECT/.stethoscope/prescribed/
    lock                held while files are written
    0001/journal.json   what was written, and the hash of each file before and after
    0001/before/0       the content of the first file before, and so on
    0001/done           all of it is written; the last thing that is made
    0002.undone/        written, and put back since
    0003.undo/          what was there when 0002 was put back
    .part-.../          a journal that is not whole yet: no file has been touched

A journal is on the disk before the first file changes. One without `done` was interrupted: whatever of it
was written is put back, so that a crash leaves every file as it was before, or all of them as they should be.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stethoscope import __version__
from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.prescription.applying.plan import FileChange
from stethoscope.prescription.applying.project import is_inside
from stethoscope.prescription.edits.replacing import create, remove, replace_content

FOLDER, SHELF = ".stethoscope", "prescribed"
JOURNAL, BEFORE, DONE, LOCK = "journal.json", "before", "done", "lock"
UNDONE, UNDO, PART = ".undone", ".undo", ".part-"
SCHEMA, KIND = 1, "prescription"
ABSENT = ""  # instead of the hash of a file that is not there
MOST_BYTES = 8 << 20  # of a journal, which names files and holds none of their content
_PART_BESIDE = re.compile(r"\.stethoscope-[a-z0-9_]{8}")
_NUMBERED = re.compile(r"(\d{4,})(?:\.undone|\.undo)?")


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as a journal knows it: its path in the project, and the hashes of its content.

    A hash is empty where there was, or is, no such file.
    """

    file: str
    before: str
    after: str
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Journal:
    """What was written at once. `undoes` is the folder of the journal that it takes back."""

    folder: Path
    when: str
    run: str
    files: tuple[Kept, ...]
    undoes: str = ""

    @property
    def is_done(self) -> bool:
        """Whether all of it was written."""
        return (self.folder / DONE).exists()

    @property
    def remedies(self) -> tuple[str, ...]:
        """The remedies that were applied."""
        return tuple(dict.fromkeys(remedy for kept in self.files for remedy in kept.remedies))

    def before(self, number: int) -> Path:
        """Where the content that a file had is kept."""
        return self.folder / BEFORE / str(number)


# --- writing ------------------------------------------------------------------------------------------


def write_all(project: Path, changes: Sequence[FileChange], run: str) -> Journal:
    """Write every change; raises StethoscopeError, and then every file is as it was."""
    with _held(project) as shelf:
        _must_be_whole(project, shelf)
        return _written(project, shelf, changes, run)


def recover(project: Path) -> tuple[Journal, ...]:
    """Put back whatever an interrupted call wrote; the journals that were concerned.

    Raises StethoscopeError where a file was changed by somebody since.
    """
    if not has_journals(project):
        return ()
    with _held(project) as shelf:
        return _must_be_whole(project, shelf)


def undo(project: Path, *, force: bool = False) -> Journal:
    """Put back what was written last; raises StethoscopeError, and then every file is as it was.

    What was interrupted while it was written counts as written last. With `force` a file that was changed
    since is put back as well, and what it held is kept.
    """
    with _held(project) as shelf:
        halves = [journal for journal in _must_be_whole(project, shelf) if not journal.undoes]
        if halves:
            return halves[-1]
        last = last_written(project)
        if last is None:
            raise StethoscopeError(f"nothing that was written in {project} is left to undo.")
        changes = [_as_before(project, last, number, force) for number in range(len(last.files))]
        needed = [change for change in changes if change.before != change.after or change.goes]
        if needed:
            _settle(_written(project, shelf, needed, last.run, undoes=last.folder.name))
        else:
            _rename(last.folder, last.folder.name + UNDONE)
        return last


# --- looking ------------------------------------------------------------------------------------------


def has_journals(project: Path) -> bool:
    """Whether anything was ever written in a project."""
    return (project / FOLDER / SHELF).is_dir()


def last_written(project: Path) -> Journal | None:
    """What was written last and not put back since."""
    journals = _journals(project / FOLDER / SHELF)
    done = [journal for journal in journals if journal.is_done and not journal.undoes]
    return done[-1] if done else None


def interrupted(project: Path) -> tuple[Journal, ...]:
    """The calls that did not come to their end."""
    return tuple(journal for journal in _journals(project / FOLDER / SHELF) if not journal.is_done)


def left_as_written(project: Path) -> frozenset[Path]:
    """The files that still hold what was written into them."""
    found = set()
    for journal in _journals(project / FOLDER / SHELF):
        for kept in journal.files if journal.is_done else ():
            path = Path(os.path.realpath(project / kept.file))
            if kept.after and _hash_of(path) == kept.after:
                found.add(path)
    return frozenset(found)


def shelf_above(paths: Sequence[Path]) -> Path | None:
    """The nearest project at or above some paths in which something was written."""
    for path in paths:
        whole = Path(os.path.realpath(path))
        for folder in (whole, *whole.parents):
            with suppress(OSError):
                if has_journals(folder):
                    return folder
    return None


# --- one transaction ----------------------------------------------------------------------------------


def _written(
    project: Path, shelf: Path, changes: Sequence[FileChange], run: str, undoes: str = ""
) -> Journal:
    with _explained(shelf):
        journal = _begun(project, shelf, changes, run, undoes)
    begun = 0
    try:
        for change in changes:
            begun += 1
            _exchange(change)
        with _explained(journal.folder):
            for folder in {change.path.parent for change in changes}:
                _persist(folder)
            _write(journal.folder / f"{DONE}.part", b"")
            os.rename(journal.folder / f"{DONE}.part", journal.folder / DONE)
    except BaseException as problem:
        try:
            _put_back(project, journal, begun)
        except StethoscopeError as worse:
            raise StethoscopeError(
                f"{problem} Not everything could be put back, either: {worse} "
                f"`stethoscope prescribe --undo` tries again; the contents are kept in {journal.folder}."
            ) from problem
        raise
    return journal


def _exchange(change: FileChange) -> None:
    """Write one file, or take it away; raises UnwritableFile, and then it is as it was."""
    if change.comes:
        create(change.path, change.after, change.file)
    elif change.goes:
        remove(change.path, change.before, change.file)
    else:
        replace_content(change.path, change.before, change.after, change.file)


def _begun(project: Path, shelf: Path, changes: Sequence[FileChange], run: str, undoes: str) -> Journal:
    """The journal with everything that is needed to take the changes back, on the disk."""
    part = Path(tempfile.mkdtemp(prefix=PART, dir=shelf))
    try:
        (part / BEFORE).mkdir()
        for number, change in enumerate(changes):
            _write(part / BEFORE / str(number), change.before)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        root = os.path.realpath(project)
        kept = [
            Kept(
                _posix(os.path.relpath(one.path, root)),
                ABSENT if one.comes else _hash(one.before),
                ABSENT if one.goes else _hash(one.after),
                one.remedies,
            )
            for one in changes
        ]
        _write(part / JOURNAL, _told(when, run, kept, undoes))
        _persist(part / BEFORE)
        _persist(part)
        folder = shelf / f"{_next_number(shelf):04d}"
        os.rename(part, folder)
        _persist(shelf)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return Journal(folder, when, run, tuple(kept), undoes)


def _settle(journal: Journal) -> None:
    """Give the journal of an undo, and the one it took back, the names that say so."""
    taken_back = journal.folder.with_name(journal.undoes)
    if taken_back.exists():
        _rename(taken_back, journal.undoes + UNDONE)
    _rename(journal.folder, journal.folder.name + UNDO)


def _put_back(project: Path, journal: Journal, begun: int | None = None) -> None:
    """Take back what an unfinished journal wrote, and the journal with it.

    `begun` is how many files were touched, where that is known: the last of them was not written.
    """
    states = [_state(project, kept) for kept in journal.files[:begun]]
    for number, (kept, state) in enumerate(zip(journal.files, states, strict=False)):
        is_written = begun is None or number < begun - 1
        if state == "changed" and is_written:
            raise StethoscopeError(
                f"{kept.file} was changed after a call that was interrupted; what it held before is in "
                f"{journal.before(number)}. Put it in order, then remove {journal.folder}."
            )
    backups = [_backup(journal, number) for number in range(len(states))]
    for kept, state, before in zip(journal.files, states, backups, strict=False):
        path = project / kept.file
        _clear_parts(path.parent)
        if state == "after":
            now = path.read_bytes() if kept.after else b""
            gone, back = not kept.after, not kept.before
            _exchange(FileChange(path, kept.file, now, before, comes=gone, goes=back))
    shutil.rmtree(journal.folder, ignore_errors=True)


def _state(project: Path, kept: Kept) -> str:
    found = _hash_of(project / kept.file)
    return "before" if found == kept.before else "after" if found == kept.after else "changed"


def _as_before(project: Path, journal: Journal, number: int, force: bool) -> FileChange:
    kept = journal.files[number]
    path = project / kept.file
    if not kept.before and not os.path.lexists(path):
        return FileChange(path, kept.file, b"", b"")
    try:
        now = path.read_bytes()
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise StethoscopeError(f"{kept.file} could not be read: {reason}.") from None
    if _hash(now) not in (kept.before, kept.after) and not force:
        raise StethoscopeError(
            f"{kept.file} was changed since; --force puts it back all the same and keeps what it holds. "
            f"What it held before is in {journal.before(number)}."
        )
    before = _backup(journal, number)
    return FileChange(Path(os.path.realpath(path)), kept.file, now, before, goes=not kept.before)


def _backup(journal: Journal, number: int) -> bytes:
    kept, place = journal.files[number], journal.before(number)
    if not kept.before:
        return b""
    try:
        content = place.read_bytes()
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise StethoscopeError(f"{place} could not be read: {reason}.") from None
    if _hash(content) != kept.before:
        raise StethoscopeError(f"{place} is not what was kept of {kept.file}, so nothing is put back.")
    return content


def _must_be_whole(project: Path, shelf: Path) -> tuple[Journal, ...]:
    """Bring to an end whatever was interrupted; the journals that were taken back."""
    for part in shelf.glob(f"{PART}*"):
        shutil.rmtree(part, ignore_errors=True)  # whoever made it is gone: the lock is ours
    taken_back = []
    for journal in _journals(shelf):
        if journal.is_done and journal.undoes:
            _settle(journal)
        elif not journal.is_done:
            _put_back(project, journal)
            taken_back.append(journal)
    return tuple(taken_back)


def _clear_parts(folder: Path) -> None:
    """Remove what a killed call was writing beside a file."""
    for part in folder.glob(".stethoscope-*"):
        with suppress(OSError):
            if _PART_BESIDE.fullmatch(part.name) and part.is_file():
                part.unlink()


# --- on the disk --------------------------------------------------------------------------------------


@contextmanager
def _held(project: Path) -> Iterator[Path]:
    """The folder of the journals, made where it is not there and held against a second call."""
    shelf = project / FOLDER / SHELF
    for folder in (project / FOLDER, shelf):
        if folder.is_symlink():
            raise UnwritableFile(f"{folder} is a link; nothing is written through it.")
    with _explained(shelf):
        shelf.mkdir(parents=True, exist_ok=True)
        hidden = project / FOLDER / ".gitignore"
        if not hidden.exists():
            hidden.write_bytes(b"*\n")
        handle = os.open(shelf / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StethoscopeError(f"another call is writing in {project}; wait for it.") from None
        yield shelf
    finally:
        os.close(handle)


def _journals(shelf: Path) -> tuple[Journal, ...]:
    """Every journal that was not put back, in the order written."""
    try:
        names = sorted(name for name in os.listdir(shelf) if name.isdigit())
    except OSError:
        return ()
    return tuple(_read(shelf / name) for name in sorted(names, key=int))


def _read(folder: Path) -> Journal:
    file = folder / JOURNAL
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ValueError("too large")
        told = json.loads(file.read_text(encoding="utf-8"))
        journal = _journal(told, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StethoscopeError(f"{file} is no journal of stethoscope; remove {folder} to go on.") from None
    project = folder.parents[2]
    for kept in journal.files:
        if os.path.isabs(kept.file) or not is_inside(project / kept.file, project):
            raise StethoscopeError(f"{file} names {kept.file}, which is not in {project}; it is left alone.")
    return journal


def _journal(told: dict[str, Any], folder: Path) -> Journal:
    if told["kind"] != KIND or told["schema"] != SCHEMA:
        raise ValueError("of another kind")
    files = tuple(
        Kept(str(one["file"]), str(one["before"]), str(one["after"]), tuple(map(str, one["remedies"])))
        for one in told["files"]
    )
    return Journal(folder, str(told["when"]), str(told["run"]), files, str(told["undoes"]))


def _told(when: str, run: str, files: Sequence[Kept], undoes: str) -> bytes:
    told = {
        "schema": SCHEMA,
        "kind": KIND,
        "version": __version__,
        "when": when,
        "run": run,
        "undoes": undoes,
        "files": [
            {"file": one.file, "before": one.before, "after": one.after, "remedies": list(one.remedies)}
            for one in files
        ],
    }
    return (json.dumps(told, indent=2) + "\n").encode()


def _next_number(shelf: Path) -> int:
    numbers = [int(found[1]) for name in os.listdir(shelf) if (found := _NUMBERED.fullmatch(name))]
    return max(numbers, default=0) + 1


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _persist(folder: Path) -> None:
    """Have the disk know the names in a folder; where it cannot be asked to, it does so in its own time."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename(folder: Path, name: str) -> None:
    with _explained(folder):
        os.rename(folder, folder.with_name(name))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{problem.filename or path} could not be written: {reason}.") from problem


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_of(path: Path) -> str:
    try:
        return _hash(path.read_bytes())
    except OSError:
        return ""


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")
