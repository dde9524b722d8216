"""The edits of a prescription, written and put back: only below the folder, and only as they were shown."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stethoscope.dashboard.houses import House
from stethoscope.diagnose import diagnose
from stethoscope.errors import StethoscopeError
from stethoscope.prescription.applying import journal
from stethoscope.prescription.applying.plan import FileChange, Plan, Reason, planned
from stethoscope.prescription.applying.project import project_around
from stethoscope.prescription.applying.uncommitted import uncommitted
from stethoscope.prescription.edits.diff import diff
from stethoscope.prescription.edits.rewriting import decoded
from stethoscope.run import Level


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A file that would change."""

    file: str
    diff: str
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownLeft:
    """An edit that would not be made, and why."""

    remedy: str
    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Prescribed:
    """What would be written; `digest` stands for it byte by byte. `hindrance` says why it will not be.

    `commands` are what would write more, in a terminal. `undo` names the files that can be put back as they
    were before the last writing.
    """

    changes: tuple[ShownChange, ...]
    left: tuple[ShownLeft, ...]
    digest: str
    hindrance: str = ""
    commands: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    undo_when: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was written or put back."""

    files: tuple[str, ...]
    when: str


def prescribed(house: House, inside: str) -> Prescribed:
    """What `stethoscope prescribe` would write for a run, as far as it lies below the folder."""
    plan, project, path = _planned(house, inside)
    last = journal.last_written(project)
    return Prescribed(
        tuple(
            ShownChange(
                one.file,
                diff(one.file, decoded(one.before, one.file)[0], decoded(one.after, one.file)[0]),
                one.remedies,
            )
            for one in plan.changes
        ),
        tuple(ShownLeft(one.edit.remedy, one.edit.file, one.why) for one in plan.left),
        _digest(plan.changes),
        _hindrance(project, plan.changes),
        tuple(_commands(plan, path)),
        tuple(kept.file for kept in last.files) if last else (),
        last.when if last else "",
    )


def _commands(plan: Plan, path: str) -> Iterator[str]:
    """What makes the edits that nobody makes from a page."""
    run = shlex.quote(path)
    if plan.left_for(Reason.RECORD):
        yield f"stethoscope prescribe {run} --into DIR"
    if plan.left_for(Reason.UNSAFE):
        yield f"stethoscope prescribe {run} --write --level unsafe"


def apply(house: House, inside: str, digest: str) -> Done:
    """Write what was shown; raises StethoscopeError where it is not the same any more."""
    plan, project, path = _planned(house, inside)
    if journal.recover(project):
        plan, project, path = _planned(house, inside)
    if not plan.changes:
        raise StethoscopeError("there is nothing left to write.")
    if _digest(plan.changes) != digest:
        raise StethoscopeError("the files or the run have changed since this was shown; look again.")
    hindrance = _hindrance(project, plan.changes)
    if hindrance:
        raise StethoscopeError(hindrance)
    if not all(house.holds(change.path) for change in plan.changes):
        raise StethoscopeError(f"a file lies outside of {house.shown}; nothing is written.")
    written = journal.write_all(project, plan.changes, path)
    return Done(tuple(kept.file for kept in written.files), written.when)


def undo(house: House, inside: str) -> Done:
    """Put back what was written last around a run."""
    project = _project(house, inside)
    last = journal.undo(project)
    return Done(tuple(kept.file for kept in last.files), last.when)


def _planned(house: House, inside: str) -> tuple[Plan, Path, str]:
    """Which edits can be made, in which project, and the path of the run."""
    path = str(house.path(inside))
    diagnosis = diagnose(path)
    edits = [edit for edit in diagnosis.prescription.edits if edit.maintained]
    project = _below(house, edits[0].file if edits else path)
    return planned(diagnosis.prescription.edits, diagnosis.run, Level.SAFE, project), project, path


def _project(house: House, inside: str) -> Path:
    path = house.path(inside)
    shelf = journal.shelf_above([path])
    if shelf is None or not house.holds(shelf):
        shelf = _planned(house, inside)[1]
    return shelf


def _below(house: House, file: str) -> Path:
    """The project around a file, where it lies below the folder; else the folder itself."""
    around = project_around(file)
    return around if house.holds(around) else house.root


def _hindrance(project: Path, changes: Sequence[FileChange]) -> str:
    """Why nothing is written though something could be: work that nobody has committed."""
    ours = journal.left_as_written(project)
    changed = uncommitted(project, [change.path for change in changes if change.path not in ours])
    if not changed:
        return ""
    names = ", ".join(os.path.relpath(path, os.path.realpath(project)) for path in changed)
    return f"{names}: changes that are not committed. Commit or stash them first."


def _digest(changes: Sequence[FileChange]) -> str:
    hashed = hashlib.sha256()
    for change in changes:
        for part in (str(change.path).encode("utf-8", "surrogateescape"), change.before, change.after):
            hashed.update(hashlib.sha256(part).digest())
    return hashed.hexdigest()
