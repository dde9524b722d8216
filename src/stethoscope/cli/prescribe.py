"""`stethoscope prescribe RUN`: what to change, what it costs and brings, and the changes made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stethoscope.cli._stderr import say
from stethoscope.cli._stdout import put_as
from stethoscope.errors import StethoscopeError

if TYPE_CHECKING:
    from stethoscope import Diagnosis
    from stethoscope.prescription.applying.journal import Journal
    from stethoscope.prescription.applying.plan import FileChange, Plan
    from stethoscope.prescription.course import Course

TRAJECTORY = "trajectory"  # as the remedy that a journal names for it
NOTHING_LEFT = 0
PRESCRIBED = 1
COULD_NOT = 2
STDIN = "-"


@click.command(
    "prescribe",
    short_help="Write the changes that a run needs, and say what they bring.",
    epilog="\b\nExamples:\n"
    "  stethoscope prescribe examples/nano-sr\n"
    "  stethoscope prescribe examples/nano-sr --diff\n"
    "  stethoscope prescribe examples/protein-sedd --level unsafe --format json",
)
@click.argument("run", type=click.Path(), nargs=-1)
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
@click.option("--diff", "as_diff", is_flag=True, help="Only the diff of what would be changed, for `patch`.")
@click.option("--write", "writing", is_flag=True, help="Make the changes, all of them or none.")
@click.option("--undo", "undoing", is_flag=True, help="Put back, byte for byte, what --write changed last.")
@click.option("--into", type=click.Path(), metavar="DIR", help="Write a mended copy of source and settings.")
@click.option("--config-out", type=click.Path(), metavar="FILE", help="Write the whole corrected settings.")
@click.option(
    "--trajectory",
    type=click.Path(),
    metavar="FILE",
    help="Also write what the next run is held to, for `stethoscope check --against FILE`.",
)
@click.option(
    "--level",
    type=click.Choice(["safe", "unsafe"]),
    default="safe",
    show_default=True,
    help="Also what was proved only elsewhere, or changes the experiment.",
)
@click.option(
    "--project", type=click.Path(), metavar="DIR", help="Write nowhere else; else the repository around."
)
@click.option("--force", is_flag=True, help="Write over changes that are not committed, or made since.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs.",
)
@click.option("--redact", is_flag=True, help="Replace paths, hosts, users and secrets by placeholders.")
@click.option("--verbose", "-v", is_flag=True, help="Show diffs and addresses in full.")
def command(run: Sequence[str], **options: Any) -> int:
    """Say what RUN needs: the edits, the ways to go on with their price, and what to try if it persists.

    RUN is what `stethoscope diagnose` takes. Nothing is changed unless --write, --into or --config-out asks
    for it; --trajectory writes a file of its own beside any of these. --write changes the settings and the
    source that a person maintains and never a record of a run; it keeps what was there in .stethoscope in the
    project, so that --undo can put it back, a new file of --trajectory included. A file with changes that are
    not committed is left alone without --force. Edits that are unproved are shown and never written. --redact
    is about what is shown, and never about what is written.

    Exit status: 0 nothing is prescribed, or all that was asked for is written; 1 something is prescribed, or
    is left that --level unsafe or --into would write; 2 nothing could be examined or written.
    """
    from stethoscope.cli._output import refuse_to_overwrite

    asked = _Asked(tuple(run), **options)
    _must_agree(asked)
    if asked.undoing:
        return _undo(asked)
    if asked.trajectory is not None and not asked.force:
        refuse_to_overwrite(asked.trajectory)
    diagnosis, plan, project = _examined(asked)
    if asked.trajectory is not None and not asked.writing:
        _write_trajectory(asked.trajectory, diagnosis, asked.level, project)
    if asked.as_diff:
        return _show_diff(plan)
    if asked.into is not None:
        return _write_into(asked, diagnosis, plan)
    if asked.config_out is not None:
        return _write_config(asked, diagnosis, plan)
    if asked.writing:
        return _write(asked, diagnosis, plan, project)
    say(*_interrupted(project))
    put_as(_rendered(asked, diagnosis, plan), asked.format_)
    return _status(diagnosis)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options, as click gives them."""

    run: tuple[str, ...]
    config: str | None
    code: str | None
    as_diff: bool
    writing: bool
    undoing: bool
    into: str | None
    config_out: str | None
    trajectory: str | None
    level: str
    project: str | None
    force: bool
    format_: str
    redact: bool
    verbose: bool


def _must_agree(asked: _Asked) -> None:
    modes = {
        "--diff": asked.as_diff,
        "--write": asked.writing,
        "--undo": asked.undoing,
        "--into": asked.into is not None,
        "--config-out": asked.config_out is not None,
    }
    given = [name for name, is_given in modes.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} are different things to do: give one of them.")
    if not asked.run and not asked.undoing:
        raise click.UsageError("Missing argument 'RUN...'.")
    if asked.undoing and asked.trajectory is not None:
        raise click.UsageError("--undo puts files back: leave --trajectory away.")
    if asked.as_diff and asked.redact:
        raise click.UsageError("a redacted diff fits no file: leave --diff or --redact away.")
    if asked.as_diff and asked.format_ != "text":
        raise click.UsageError("--diff is a format of its own: leave --format away.")


# --- what is prescribed -------------------------------------------------------------------------------


def _examined(asked: _Asked) -> tuple[Diagnosis, Plan, Path | None]:
    """The diagnosis, which of its edits can be made, and the project that they are made in."""
    from stethoscope.prescription import Level
    from stethoscope.prescription.applying.plan import planned

    diagnosis = _diagnosed(asked)
    project = _project(asked, diagnosis)
    if asked.writing and project is not None and _recovered(project):
        diagnosis = _diagnosed(asked)  # what was read has been put back since
    in_copies = asked.as_diff or asked.into is not None or asked.config_out is not None
    edits = diagnosis.prescription.edits
    plan = planned(edits, diagnosis.run, Level(asked.level), project, in_copies=in_copies)
    return diagnosis, plan, project


def _diagnosed(asked: _Asked) -> Diagnosis:
    from stethoscope import diagnose
    from stethoscope.cli._paths import expanded, must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.report.clean_text import one_line

    paths = expanded(asked.run)
    for given in filter(None, (asked.config, asked.code, asked.project)):
        must_exist(given)
    with patience(f"examining {one_line(paths[0], 60)}"):
        return diagnose(paths, config=asked.config, code=asked.code)


def _project(asked: _Asked, diagnosis: Diagnosis) -> Path | None:
    """The folder that may be written in, or was before; None where no file is to be changed."""
    from stethoscope.prescription.applying.journal import shelf_above
    from stethoscope.prescription.applying.project import project_around

    if asked.project is not None:
        return Path(os.path.realpath(asked.project))
    edits = [edit for edit in diagnosis.prescription.edits if edit.maintained]
    if edits:
        return project_around(edits[0].file, diagnosis.run)
    program = diagnosis.run.program
    if program is not None and program.maintained:
        return project_around(program.root or ".", diagnosis.run)
    return shelf_above([Path(one) for one in asked.run if one != STDIN])


def _recovered(project: Path) -> bool:
    from stethoscope.prescription.applying.journal import recover

    found = recover(project)
    for journal in found:
        files = ", ".join(kept.file for kept in journal.files)
        say(f"a call of {journal.when} was interrupted; what it had written is put back: {files}.")
    return bool(found)


def _interrupted(project: Path | None) -> list[str]:
    from stethoscope.prescription.applying.journal import interrupted

    if project is None:
        return []
    with suppress(StethoscopeError):
        return [
            f"a call of {one.when} was interrupted while it wrote; --write or --undo puts its changes back."
            for one in interrupted(project)
        ]
    return []


# --- what is shown ------------------------------------------------------------------------------------


def _rendered(
    asked: _Asked, diagnosis: Diagnosis, plan: Plan, written: dict[str, object] | None = None
) -> str:
    from stethoscope.report import prescription_json, prescription_text
    from stethoscope.report.terminal import console

    course = _course(diagnosis)
    if asked.redact:
        from stethoscope.report.redact import redacted

        diagnosis, course, plan, written = redacted((diagnosis, course, plan, written))
    if asked.format_ == "json":
        return prescription_json.render(diagnosis, course, plan, written)
    return prescription_text.render(diagnosis, course, plan, console(), verbose=asked.verbose)


def _course(diagnosis: Diagnosis) -> Course:
    from stethoscope.prescription.case import Case
    from stethoscope.prescription.course import course

    case = Case(diagnosis.run, diagnosis.examination, diagnosis.explanation)
    return course(case, diagnosis.prescription)


def _show_diff(plan: Plan) -> int:
    """The changes for `patch`, byte for byte; on a terminal in colour, and with nothing in it that acts."""
    from stethoscope.prescription.edits.diff import diff
    from stethoscope.prescription.edits.rewriting import decoded
    from stethoscope.report import lint_diff
    from stethoscope.report.terminal import console

    shown = "".join(
        diff(one.file, decoded(one.before, one.file)[0], decoded(one.after, one.file)[0])
        for one in plan.changes
    )
    target = console(widest=None)
    put_as(lint_diff.render(shown, target) if target.is_terminal else shown, "text")
    return PRESCRIBED if plan.changes else NOTHING_LEFT


# --- what is written ----------------------------------------------------------------------------------


def _write(asked: _Asked, diagnosis: Diagnosis, plan: Plan, project: Path | None) -> int:
    from stethoscope.prescription.applying.journal import write_all

    journal = None
    if not plan.changes and not _already(project):
        _must_be_readable(diagnosis)
    changes, beside = _with_trajectory(asked, diagnosis, plan, project)
    if plan.changes:
        assert project is not None
        _must_be_committed(asked, plan, project)
    if changes:
        assert project is not None
        journal = write_all(project, changes, diagnosis.run.path)
    if asked.trajectory is not None and beside:
        _write_trajectory(asked.trajectory, diagnosis, asked.level, project)
    elif asked.trajectory is not None:
        _tell_trajectory(asked.trajectory)
    if asked.format_ == "json":
        from stethoscope.report.prescription_json import written_dict

        put_as(_rendered(asked, diagnosis, plan, written_dict(journal) if journal else None), "json")
    else:
        put_as(_shareable(asked, _told(plan, journal, project), plan, project), "text")
    return _left(plan)


def _with_trajectory(
    asked: _Asked, diagnosis: Diagnosis, plan: Plan, project: Path | None
) -> tuple[tuple[FileChange, ...], bool]:
    """All files to write at once, and whether the trajectory is not among them and written by itself."""
    if asked.trajectory is None or project is None or not plan.changes:
        return plan.changes, asked.trajectory is not None
    change = _trajectory_change(asked.trajectory, diagnosis, asked.level, project)
    return (plan.changes, True) if change is None else ((*plan.changes, change), False)


def _must_be_committed(asked: _Asked, plan: Plan, project: Path) -> None:
    """Refuse to mix with changes that nobody has committed, other than our own."""
    from stethoscope.prescription.applying.journal import left_as_written
    from stethoscope.prescription.applying.uncommitted import uncommitted

    if asked.force:
        return
    ours = left_as_written(project)
    files = [change.path for change in plan.changes if change.path not in ours]
    changed = uncommitted(project, files)
    if changed:
        names = ", ".join(os.path.relpath(path, os.path.realpath(project)) for path in changed)
        raise StethoscopeError(
            f"{names}: changes that are not committed. Commit or stash them, or give --force; "
            "--undo would put the file back as it is now."
        )


def _write_into(asked: _Asked, diagnosis: Diagnosis, plan: Plan) -> int:
    from stethoscope.prescription.applying.copies import copies, write_into

    _must_be_readable(diagnosis)
    assert asked.into is not None
    if not plan.changes:
        _tell_copy(asked, diagnosis, plan, "There is nothing to mend in a copy.", None)
        return _left(plan)
    files = copies(diagnosis.run, plan)
    write_into(Path(asked.into), files)
    changed = {change.file for change in plan.changes}
    names = [file.name for file in files if file.of in changed]
    said = f"{asked.into} holds {len(files)} files; mended: {', '.join(names)}."
    _tell_copy(asked, diagnosis, plan, said, {"into": asked.into, "files": names})
    return _left(plan)


def _write_config(asked: _Asked, diagnosis: Diagnosis, plan: Plan) -> int:
    from stethoscope.cli._output import refuse_to_overwrite, written_whole
    from stethoscope.prescription.applying.copies import corrected_config

    _must_be_readable(diagnosis)
    assert asked.config_out is not None
    if diagnosis.run.recipe is None or not diagnosis.run.recipe.files:
        raise StethoscopeError(
            f"no settings file was read with {diagnosis.run.path}, so there is none to correct."
        )
    corrected = corrected_config(diagnosis.run, plan)
    if corrected is None:
        _tell_copy(asked, diagnosis, plan, "Nothing is prescribed that changes the settings.", None)
        return _left(plan)
    if not asked.force:
        refuse_to_overwrite(asked.config_out)
    with written_whole(asked.config_out) as stream:
        stream.write(corrected.content)
    said = f"{asked.config_out}: {corrected.of}, corrected."
    _tell_copy(asked, diagnosis, plan, said, {"config_out": asked.config_out, "files": [corrected.of]})
    return _left(plan)


def _write_trajectory(target: str, diagnosis: Diagnosis, level: str, project: Path | None) -> None:
    """What the next run should look like; below the project so that --undo takes it back."""
    from stethoscope.cli._output import written_whole
    from stethoscope.prescription.applying.journal import write_all
    from stethoscope.prescription.applying.project import project_around

    home = project or project_around(os.path.dirname(target) or ".")
    change = _trajectory_change(target, diagnosis, level, home)
    if change is not None:
        write_all(home, [change], diagnosis.run.path)
        _tell_trajectory(target)
        return
    with written_whole(target) as stream:
        stream.write(_trajectory(diagnosis, level))
    _tell_trajectory(target)
    say(f"{target} is not in {home}, so --undo does not know it.")


def _trajectory_change(target: str, diagnosis: Diagnosis, level: str, project: Path) -> FileChange | None:
    """The trajectory as a file of the project; None where it is to stand elsewhere, or in no plain file."""
    from stethoscope.prescription.applying.plan import FileChange
    from stethoscope.prescription.applying.project import is_inside

    path = Path(os.path.realpath(target))
    if not is_inside(path, project) or not path.parent.is_dir() or (path.exists() and not path.is_file()):
        return None
    comes = not path.exists()
    before = b"" if comes else path.read_bytes()
    return FileChange(path, target, before, _trajectory(diagnosis, level), (TRAJECTORY,), comes=comes)


def _trajectory(diagnosis: Diagnosis, level: str) -> bytes:
    """What was healthy in this run, and what its recipe says with the edits of a level, as a file.

    Edits of a record count too: somebody makes them in the file that it was copied from.
    """
    from stethoscope.cli.trajectory import basis_of
    from stethoscope.run import Level
    from stethoscope.trajectory import plan, written

    levels = {Level.SAFE, Level(level)}
    edits = [edit for edit in diagnosis.prescription.edits if edit.level in levels]
    return written(plan(basis_of(diagnosis, edits))).encode("utf-8")


def _tell_trajectory(target: str) -> None:
    say(f"{target}: what the next run is held to; stethoscope check RUN --against {target} does so.")


def _tell_copy(
    asked: _Asked, diagnosis: Diagnosis, plan: Plan, said: str, written: dict[str, object] | None
) -> None:
    if asked.format_ == "json":
        put_as(_rendered(asked, diagnosis, plan, written), "json")
    else:
        text = "\n".join(_clean([said])) + "\n" + _told_left(plan)
        put_as(_shareable(asked, text, plan, None), "text")


def _undo(asked: _Asked) -> int:
    from stethoscope.prescription.applying.journal import shelf_above, undo

    named = [Path(one) for one in (asked.project, *asked.run, asked.code) if one]
    around = shelf_above(named or [Path.cwd()])
    if around is None:
        raise StethoscopeError(
            f"nothing was written in or around {', '.join(map(str, named)) or 'this folder'}; "
            "name the project with --project."
        )
    journal = undo(around, force=asked.force)
    if asked.format_ == "json":
        import json

        from stethoscope.report.prescription_json import written_dict

        put_as(json.dumps({"schema": 1, "undone": written_dict(journal)}, indent=2) + "\n", "json")
    else:
        files = ", ".join(kept.file for kept in journal.files)
        put_as(f"Put back as before {journal.when}: {files}.\n", "text")
    return NOTHING_LEFT


def _shareable(asked: _Asked, text: str, plan: Plan, project: Path | None) -> str:
    """A text as it may be shown to strangers, where that is asked for."""
    if not asked.redact:
        return text
    from stethoscope.report.redact import redacted

    return redacted((plan, project, text))[2]


def _must_be_readable(diagnosis: Diagnosis) -> None:
    if _status(diagnosis) == COULD_NOT:
        raise StethoscopeError(
            f"too little of {diagnosis.run.path} could be read to prescribe anything, so nothing is written."
        )


def _told(plan: Plan, journal: Journal | None, project: Path | None) -> str:
    lines = []
    if journal is not None:
        lines += [f"{kept.file}: {', '.join(kept.remedies)}" for kept in journal.files]
        lines.append(f"Written in {project}; `stethoscope prescribe --undo` puts it back.")
    else:
        lines.append("There is nothing left to write.")
        lines += _already(project)
    return "\n".join(_clean(lines)) + "\n" + _told_left(plan)


def _already(project: Path | None) -> list[str]:
    from stethoscope.prescription.applying.journal import last_written

    with suppress(StethoscopeError):
        last = last_written(project) if project is not None else None
        if last is not None:
            return [f"Applied at {last.when}: {', '.join(last.remedies)}; --undo puts it back."]
    return []


def _told_left(plan: Plan) -> str:
    lines = dict.fromkeys(f"Not written: {one.edit.remedy}: {one.why}." for one in plan.left)
    return "".join(f"{line}\n" for line in _clean(list(lines)))


def _clean(lines: Sequence[str]) -> list[str]:
    from stethoscope.report.clean_text import one_line

    return [one_line(line) for line in lines]


def _left(plan: Plan) -> int:
    """1 where another option would write more; what is shown only is nobody's to write."""
    from stethoscope.prescription.applying.plan import Reason

    left = [one for one in plan.left if one.reason is not Reason.DISPLAY]
    return PRESCRIBED if left else NOTHING_LEFT


def _status(diagnosis: Diagnosis) -> int:
    from stethoscope.cli.diagnose import exit_status

    advised = diagnosis.prescription
    if exit_status(diagnosis) == COULD_NOT:
        return COULD_NOT
    return PRESCRIBED if advised.edits or advised.advice or advised.checkpoint else NOTHING_LEFT
