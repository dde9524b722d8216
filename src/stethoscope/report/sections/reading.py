"""What the diagnosis rests on: the files that were read, where they came from, what could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stethoscope.report.address import LONGEST
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.short_list import short_list
from stethoscope.report.words import count, listed
from stethoscope.run import ConfigFile, Log, Program, Run, Unread

STEPS_SHOWN = 8

SAID_OF_ORIGIN = {
    "given": "given",
    "run": "in the run",
    "snapshot": "recorded with the run",
    "log": "dumped in the log",
    "repository": "from the repository",
}


def everything(run: Run, verbose: bool) -> Iterator[Line]:
    """Logs, settings, code and checkpoints, then what could not be read."""
    yield from short_list(run.logs, lambda log: _log(log, verbose), verbose)
    yield from short_list(run.recipe.files if run.recipe else (), _settings, verbose)
    if run.program is not None:
        yield from _code(run.program)
    yield from _checkpoints(run)
    yield from short_list(run.unread, _unread, verbose)


def _log(log: Log, verbose: bool) -> Iterator[Line]:
    held = f"{count(len(log.series), 'series', 'series')}, {count(log.points, 'point')}"
    yield _item(f"log: {one_line(log.file, LONGEST)} ({log.format}; {held})")
    for note in log.notes if verbose else ():
        yield Line(Text(one_line(note)), indent=4, hang=2)


def _settings(config: ConfigFile) -> Iterator[Line]:
    origin = _origin(config.origin, config.changed_after_start)
    yield _item(f"settings: {one_line(config.file, LONGEST)} ({origin})")


def _code(program: Program) -> Iterator[Line]:
    origin = _origin(program.origin, program.changed_after_start)
    files = count(len(program.sources), "file")
    yield _item(f"code: {one_line(program.root, LONGEST)} ({files}; {origin})")


def _checkpoints(run: Run) -> Iterator[Line]:
    if not run.checkpoints:
        return
    steps = sorted({checkpoint.step for checkpoint in run.checkpoints if checkpoint.step is not None})
    at = f" at {'steps' if len(steps) > 1 else 'step'} {listed([f'{step:,}' for step in steps], STEPS_SHOWN)}"
    yield _item(f"checkpoints: {count(len(run.checkpoints), 'file')}{at if steps else ''}")


def _unread(unread: Unread) -> Iterator[Line]:
    # Some reasons name their file themselves.
    reason = unread.reason.removeprefix(f"{unread.file}: ")
    yield _item(f"not read: {one_line(unread.file, LONGEST)}: {one_line(reason)}")


def _origin(origin: str, changed: bool | None) -> str:
    later = ", changed after the run began" if changed else ""
    return SAID_OF_ORIGIN.get(origin, one_line(origin)) + later


def _item(text: str) -> Line:
    return Line(Text(text), indent=2, hang=2)
