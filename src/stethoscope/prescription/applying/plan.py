"""Which of the prescribed edits can be made, and what they make of each file.

A remedy is made whole or not at all: where one of its edits cannot be made, none of them is.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.prescription.applying.project import is_inside
from stethoscope.prescription.edits.rewriting import decoded, rewritten
from stethoscope.prescription.remedy import UNPROVED, Edit
from stethoscope.prescription.texts import text_of
from stethoscope.program.in_use import SNAPSHOTS
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import Level, Run, Splice
from stethoscope.run.repository import is_project


class Reason(StrEnum):
    """Why an edit is left."""

    DISPLAY = "display"  # shown only
    UNSAFE = "unsafe"  # of a level that was not asked for
    RECORD = "record"  # in a file that nobody maintains
    OUTSIDE = "outside"  # not in the project
    OVERLAP = "overlap"  # in the same place as another
    REFUSED = "refused"  # the file is not what was read, or would not be what it is afterwards


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after. `path` is the file itself, with links followed; `file` is its name to show.

    Where `comes` there is none before, and where `goes` none after; the content is empty then.
    """

    path: Path
    file: str
    before: bytes
    after: bytes
    remedies: tuple[str, ...] = ()
    comes: bool = False
    goes: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """An edit that is not made, and why."""

    edit: Edit
    reason: Reason
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The files that change, the edits that change them, and those that are left."""

    changes: tuple[FileChange, ...] = ()
    made: tuple[Edit, ...] = ()
    left: tuple[Left, ...] = ()

    def left_for(self, *reasons: Reason) -> tuple[Left, ...]:
        """The edits that are left for one of these reasons."""
        return tuple(one for one in self.left if one.reason in reasons)


def planned(
    edits: Iterable[Edit], run: Run, level: Level, project: Path | None, *, in_copies: bool = False
) -> Plan:
    """The edits of a level that can be made in the files of a project.

    `in_copies` plans for copies of the files: a record may be changed there, wherever it lies.
    """
    made: list[Edit] = []
    left: list[Left] = []
    taken: dict[str, dict[Splice, str]] = {}
    after: dict[str, FileChange] = {}
    for parts in _by_remedy(edits):
        reason, why = _refusal(parts, run, level, project, in_copies)
        attempt = taken
        if reason is None:
            attempt = _with(taken, parts)
            touching = _touching(parts, taken)
            if touching:
                reason, why = Reason.OVERLAP, f"it changes what {touching} changes; ask again after that"
        if reason is None:
            try:
                fresh = {part.file: _change(part, attempt[part.file], run) for part in parts}
            except UnreadableFile as problem:
                reason, why = Reason.REFUSED, str(problem).rstrip(".")
        if reason is not None:
            left += [Left(part, reason, why) for part in parts]
            continue
        taken = attempt
        after |= fresh
        made += parts
    changes = tuple(one for one in after.values() if one.before != one.after)
    return Plan(changes, tuple(made), tuple(left))


def _by_remedy(edits: Iterable[Edit]) -> list[list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.remedy, []).append(edit)
    return list(found.values())


def _refusal(
    parts: Sequence[Edit], run: Run, level: Level, project: Path | None, in_copies: bool
) -> tuple[Reason | None, str]:
    for part in parts:
        if part.level is Level.DISPLAY:
            unproved = "it is unproved" if part.proof == UNPROVED else "it moves nothing"
            return Reason.DISPLAY, f"shown only, because {unproved}"
        if part.level is Level.UNSAFE and level is not Level.UNSAFE:
            return Reason.UNSAFE, "unsafe: --level unsafe includes it"
    for part in () if in_copies else parts:
        if not part.maintained or _is_kept_with_run(part, run):
            return Reason.RECORD, (
                f"{part.file} is a record of the run, which is never changed: --into DIR writes a mended copy"
            )
        if project is not None and not is_inside(Path(part.file), project):
            return Reason.OUTSIDE, f"{part.file} is not in the project {project}"
    return None, ""


def _is_kept_with_run(part: Edit, run: Run) -> bool:
    """Whether a file is a run's own copy, though nothing else says so: of the source, or of the settings.

    Settings in the folder of a run whose source lies elsewhere were put there by the run, unless somebody
    named the file.
    """
    home = Path(run.path) if Path(run.path).is_dir() else Path(run.path).parent
    program = run.program
    if program is None or not program.maintained or is_project(home) or not is_inside(Path(part.file), home):
        return False
    if part.kind == "source":
        inside = os.path.relpath(os.path.realpath(part.file), os.path.realpath(home))
        return program.origin == "given" and bool(SNAPSHOTS.match(inside.split(os.sep)[0]))
    config = run.recipe.file(part.read_from or part.file) if run.recipe else None
    named = config is not None and config.origin == "given"
    return not named and not is_inside(Path(program.root or "."), home)


def _with(taken: Mapping[str, Mapping[Splice, str]], parts: Sequence[Edit]) -> dict[str, dict[Splice, str]]:
    attempt = {file: dict(splices) for file, splices in taken.items()}
    for part in parts:
        attempt.setdefault(part.file, {}).update(dict.fromkeys(part.splices, part.remedy))
    return attempt


def _touching(parts: Sequence[Edit], taken: Mapping[str, Mapping[Splice, str]]) -> str:
    """The remedy that changes the same place in another way; empty where there is none."""
    for part in parts:
        for splice in part.splices:
            for other, remedy in taken.get(part.file, {}).items():
                if splice != other and _touch(splice, other):
                    return remedy
    return ""


def _touch(one: Splice, other: Splice) -> bool:
    """Whether two splices share a character, or insert at the same place."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    return one.start < other.end and other.start < one.end


def _change(part: Edit, splices: Mapping[Splice, str], run: Run) -> FileChange:
    file, read_from = part.file, part.read_from or part.file
    read = text_of(read_from, run)
    path = Path(os.path.realpath(file))
    text = part.text or read.text
    before = text.encode() if read.dumped else _content(path, file)
    after = rewritten(before, text, tuple(splices), file)
    must_read(after, file, _syntax(read_from, run))
    return FileChange(path, file, before, after, tuple(dict.fromkeys(splices.values())))


def _content(path: Path, file: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnreadableFile(f"{file} could not be read: {reason}") from None


def _syntax(file: str, run: Run) -> str | None:
    config = run.recipe.file(file) if run.recipe else None
    return config.syntax if config is not None else syntax_of(file)


def must_read(content: bytes, file: str, syntax: str | None) -> None:
    """Raise UnreadableFile where a changed file would no longer be read as what it is."""
    text, _ = decoded(content, file)
    try:
        if file.endswith(".py"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(content)
        elif syntax is not None and syntax != "shell":
            read_settings(text.replace("\r\n", "\n").replace("\r", "\n"), file, syntax)
    except (SyntaxError, ValueError, RecursionError, MemoryError, UnreadableFile):
        raise UnreadableFile(f"{file}: the edit would leave it unreadable, so it is not made") from None
