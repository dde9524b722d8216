"""`stethoscope lint PATH`: what is wrong with training source and settings, before anything is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stethoscope.cli._stderr import say
from stethoscope.errors import NothingToRead, UnwritableFile

if TYPE_CHECKING:
    from stethoscope.findings import RuleEntry
    from stethoscope.lint import Linted, LintReport
    from stethoscope.lint.files import Files
    from stethoscope.lint.fixing import Change, Fixed

NOTHING_FOUND = 0
SOMETHING_FOUND = 1
COULD_NOT_EXAMINE = 2
STDIN = "-"
USUAL_BASE = ""  # --changed without a commit
MOST_STDIN_BYTES = 64 << 20
WIDTH = 100  # of text that is written where no terminal says how wide it is


@click.command(
    "lint",
    short_help="Check training source and settings, without a run.",
    epilog="\b\nExamples:\n"
    "  stethoscope lint examples/nano-sr\n"
    "  stethoscope lint examples/nano-sr --select settings --format json\n"
    "  stethoscope lint examples/nano-sr/code/nanosr/losses.py --format github\n"
    "  cat examples/nano-sr-cured/code/train.py | stethoscope lint -",
)
@click.argument("path", type=click.Path(), nargs=-1)
@click.option(
    "--select", metavar="RULES", multiple=True, help="Only these rules: codes, prefixes, families or names."
)
@click.option("--ignore", metavar="RULES", multiple=True, help="Not these rules.")
@click.option("--fix", "fixing", is_flag=True, help="Apply the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Count fixes that change the experiment as applicable.")
@click.option("--diff", "as_diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--changed",
    is_flag=False,
    flag_value=USUAL_BASE,
    metavar="[BASE]",
    help="Tell only about files that differ from the commit BASE; without it, from where the branch left "
    "the remote's main branch.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs, SARIF 2.1.0, or GitHub annotations.",
)
@click.option("--output", type=click.Path(), help="The file to write instead of standard output.")
@click.option("--statistics", is_flag=True, help="Text: count the findings of each rule.")
@click.option("--stdin-filename", type=click.Path(), help="The name of the source on standard input.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes for a large program; without it, one for each core, 4 at most.",
)
@click.option("--verbose", "-v", is_flag=True, help="Text: notes, why rules could not look, files left out.")
def command(
    path: Sequence[str],
    select: Sequence[str],
    ignore: Sequence[str],
    fixing: bool,
    unsafe_fixes: bool,
    as_diff: bool,
    changed: str | None,
    format_: str,
    output: str | None,
    statistics: bool,
    stdin_filename: str | None,
    jobs: int | None,
    verbose: bool,
) -> int:
    """Check the training source and the settings below PATH, without a run and without a log.

    PATH is a folder, a file, several of them, a quoted pattern, or - for source on standard input; without
    one it is the working directory. The project around PATH is read too, to know what its names mean, but
    only PATH is told about. Nothing is executed; only --fix changes a file.

    A finding that is known and fine is ignored by `# stethoscope: ignore[CODE] reason` on its line or the
    line above, and in a whole file by `# stethoscope: ignore-file[CODE]`. The settings select, ignore,
    exclude and per-file-ignores stand in pyproject.toml under [tool.stethoscope.lint].

    Exit status: 0 nothing found; 1 something found; 2 could not examine.
    """
    from stethoscope.cli._patience import patience
    from stethoscope.lint import examined, rules_asked_for
    from stethoscope.lint.collecting import collect_rarely_to_the_end
    from stethoscope.lint.sharing_out import sensible_jobs
    from stethoscope.report.clean_text import one_line

    collect_rarely_to_the_end()
    telling = _Telling(format_, output, verbose, statistics, unsafe_fixes)
    paths, base = _paths_and_base(path, changed)
    _must_agree(paths, fixing, as_diff, format_, stdin_filename)
    with patience(f"examining {one_line(paths[0], 60)}"):
        files = _files(paths, base, stdin_filename)
        rules = rules_asked_for(files.settings, _listed(select), _listed(ignore))
        _must_not_overwrite(output, files)
        if fixing or as_diff:
            return _fix(files, paths, rules, as_diff, telling)
        report = examined(files, tuple(paths), rules, jobs=jobs or sensible_jobs())
        written = _rendered(report, telling)
    _put(written, telling)
    _complain(report)
    return _status(report)


@dataclass(frozen=True, slots=True)
class _Telling:
    """How the report is to be told."""

    format_: str
    output: str | None
    verbose: bool
    statistics: bool
    unsafe: bool


def _listed(given: Sequence[str]) -> list[str]:
    """`--select LOP101,PRC --select loop` as one list."""
    return [one.strip() for part in given for one in part.split(",") if one.strip()]


def _paths_and_base(path: Sequence[str], changed: str | None) -> tuple[list[str], str | None]:
    """The paths, patterns expanded, and the commit to compare with."""
    from stethoscope.cli._paths import expanded
    from stethoscope.lint.changed_files import is_commit

    typed = list(path)
    if changed and os.path.exists(changed) and not is_commit(Path.cwd(), changed):
        # `--changed src` reads as a path to whoever typed it.
        typed, changed = [changed, *typed], USUAL_BASE
    return expanded(typed or ["."]), changed


def _must_agree(
    paths: Sequence[str], fixing: bool, as_diff: bool, format_: str, stdin_filename: str | None
) -> None:
    if STDIN in paths and len(paths) > 1:
        raise NothingToRead("- is standard input, which is examined by itself: give no other path beside it.")
    if stdin_filename is not None and STDIN not in paths:
        raise click.UsageError("--stdin-filename names what comes on standard input: give - as PATH.")
    if fixing and as_diff:
        raise click.UsageError("--diff shows what --fix would do: give one of them.")
    if as_diff and format_ != "text":
        raise click.UsageError("--diff is a format of its own: leave --format away.")


def _files(paths: Sequence[str], base: str | None, stdin_filename: str | None) -> Files:
    from stethoscope.lint import gather
    from stethoscope.lint.changed_files import changed_files

    given = sys.stdin.buffer.read(MOST_STDIN_BYTES) if STDIN in paths else None
    changed = None
    if base is not None:
        first = Path("." if paths[0] == STDIN else paths[0]).absolute()
        changed = changed_files(first if first.is_dir() else first.parent, base or None)
    return gather(paths, standard_input=given, stdin_filename=stdin_filename, changed=changed)


def _must_not_overwrite(output: str | None, files: Files) -> None:
    if output is None:
        return
    target = Path(os.path.realpath(output))
    read = {
        Path(os.path.realpath(entry.path))
        for entry in (*files.sources, *files.settings_files, *files.launchers)
    }
    if target in read:
        raise UnwritableFile(f"{output} is one of the files examined; write the report elsewhere.")
    if target.is_dir():
        raise UnwritableFile(f"{output} is a folder; name a file to write.")


def _fix(
    files: Files, paths: Sequence[str], rules: Sequence[RuleEntry], as_diff: bool, telling: _Telling
) -> int:
    from stethoscope.lint import examined
    from stethoscope.lint.fixing import fix, write

    fixed = fix(files, tuple(paths), rules, unsafe=telling.unsafe)
    if as_diff:
        _put(_diff(fixed.changes, telling), telling)
        say(*fixed.refused)
        return SOMETHING_FOUND if fixed.changes else NOTHING_FOUND
    if STDIN in paths:
        return _fixed_stdin(files, fixed, telling)
    written, problems = write(fixed.changes)
    # What the disk holds is what is told, where it is not what was examined last.
    in_settings = any(not change.file.endswith(".py") for change in written)
    report = examined(files, tuple(paths), rules) if problems or in_settings else fixed.report
    done = {change.file for change in written}
    mended = [one for one in fixed.mended if one.where.file in done]
    _put(_rendered(report, telling, mended), telling)
    _complain(report)
    say(*fixed.refused, *problems)
    return COULD_NOT_EXAMINE if problems else _status(report)


def _fixed_stdin(files: Files, fixed: Fixed, telling: _Telling) -> int:
    """The mended source on standard output, as an editor expects it; what is left on standard error."""
    from stethoscope.report import lint_text
    from stethoscope.report.terminal import plain_console

    after = [change.after for change in fixed.changes] or list(files.held.values())
    sys.stdout.buffer.write(after[0])
    sys.stdout.buffer.flush()
    left = lint_text.render(fixed.report, plain_console(WIDTH), verbose=telling.verbose, mended=fixed.mended)
    click.echo(left, err=True, nl=False)
    say(*fixed.refused)
    return _status(fixed.report)


def _diff(changes: Sequence[Change], telling: _Telling) -> str:
    """The changes for `patch`, byte for byte; on a terminal in colour, and with nothing in it that acts."""
    from stethoscope.prescription.edits.diff import diff
    from stethoscope.report import lint_diff
    from stethoscope.report.terminal import console

    shown = "".join(diff(change.file, *change.texts) for change in changes)
    target = console(widest=None)
    return lint_diff.render(shown, target) if telling.output is None and target.is_terminal else shown


def _rendered(report: LintReport, telling: _Telling, mended: Sequence[Linted] = ()) -> str:
    from stethoscope.report import lint_github, lint_json, lint_sarif, lint_text
    from stethoscope.report.terminal import console, plain_console

    if telling.format_ == "json":
        return lint_json.render(report)
    if telling.format_ == "sarif":
        return lint_sarif.render(report)
    if telling.format_ == "github":
        return lint_github.render(report)
    return lint_text.render(
        report,
        console() if telling.output is None else plain_console(WIDTH),
        verbose=telling.verbose,
        statistics=telling.statistics,
        unsafe=telling.unsafe,
        mended=mended,
    )


def _put(written: str, telling: _Telling) -> None:
    from stethoscope.cli._output import written_whole
    from stethoscope.cli._stdout import prepare, put

    if telling.output is not None:
        with written_whole(telling.output) as stream:
            stream.write(written.encode("utf-8", errors="backslashreplace"))
        return
    prepare("utf-8" if telling.format_ in {"json", "sarif"} else None)
    put(written)


def _complain(report: LintReport) -> None:
    """Say on standard error which comments say nothing, and which named files could not be read."""
    say(*(f"{where}: {problem}" for where, problem in report.problems))
    if report.unread_named or not report.files:
        say(*(f"{one.file} could not be read: {one.reason}." for one in report.unread))


def _status(report: LintReport) -> int:
    """What the shell is told: notes never count, and a file that was named and not read does."""
    if report.unread_named or (report.unread and not report.files):
        return COULD_NOT_EXAMINE
    return SOMETHING_FOUND if report.telling else NOTHING_FOUND
