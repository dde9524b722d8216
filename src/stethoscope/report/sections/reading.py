"""What the diagnosis rests on: the files that were read, where they came from, what could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stethoscope.report.address import LONGEST
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.short_list import short_list
from stethoscope.report.words import count, listed
from stethoscope.run import ConfigFile, Log, Run, Unread

STEPS_SHOWN = 8
FILES_SHOWN = 3

SAID_OF_ORIGIN = {
    "given": "given",
    "run": "in the run",
    "snapshot": "recorded with the run",
    "log": "dumped in the log",
    "repository": "from the repository",
}


def everything(run: Run, verbose: bool) -> Iterator[Line]:
    """Logs, settings, code and checkpoints: a sentence, or with `verbose` a list with notes."""
    if verbose:
        yield from (Line(Text(item), indent=2, hang=2) for item in files(run))
        return
    logs = [_log(log, run) for log in run.logs]
    settings = [_settings(config, run) for config in (run.recipe.files if run.recipe else ())]
    others = [*_code(run), *_checkpoints(run)]
    if logs or settings or others:
        parts = [*_shortened(logs, "log"), *_shortened(settings, "settings file"), *others]
        yield Line(Text("; ".join(parts) + "."))


def files(run: Run) -> list[str]:
    """Every file that was read and what it held, then the readers' notes, a line each."""
    logs = [_log(log, run) for log in run.logs]
    settings = [_settings(config, run) for config in (run.recipe.files if run.recipe else ())]
    notes = [f"{_name(log.file, run)}: {one_line(note)}" for log in run.logs for note in log.notes]
    notes += [one_line(note) for note in run.notes]
    return [*logs, *settings, *_code(run), *_checkpoints(run), *notes]


def unread(run: Run, verbose: bool) -> Iterator[Line]:
    """What could not be read, and why."""
    yield from short_list(run.unread, _unread, verbose)


def _shortened(items: list[str], noun: str) -> list[str]:
    rest = len(items) - FILES_SHOWN
    return [*items[:FILES_SHOWN], *([f"{count(rest, f'more {noun}')}"] if rest > 0 else [])]


def _log(log: Log, run: Run) -> str:
    held = f"{count(len(log.series), 'series', 'series')}, {count(log.points, 'point')}"
    return f"log {_name(log.file, run)} ({log.format}; {held})"


def _settings(config: ConfigFile, run: Run) -> str:
    if config.origin == "log":
        return "settings dumped in the log"
    return f"settings {_name(config.file, run)} ({_origin(config.origin, config.changed_after_start)})"


def _code(run: Run) -> Iterator[str]:
    if run.program is not None:
        origin = _origin(run.program.origin, run.program.changed_after_start)
        files = count(len(run.program.sources), "file")
        yield f"source {_name(run.program.root, run)} ({files}, {origin})"


def _checkpoints(run: Run) -> Iterator[str]:
    if run.checkpoints:
        steps = sorted({checkpoint.step for checkpoint in run.checkpoints if checkpoint.step is not None})
        of = f" of {'steps' if len(steps) > 1 else 'step'} " if steps else ""
        shown = listed([f"{step:,}" for step in steps], STEPS_SHOWN)
        yield f"{count(len(run.checkpoints), 'checkpoint file')}{of}{shown}"


def not_read(unread: Unread) -> str:
    """A file that could not be read, and why."""
    # Some reasons name their file themselves.
    reason = unread.reason.removeprefix(f"{unread.file}: ")
    return f"{one_line(unread.file, LONGEST)}: {one_line(reason)}"


def _unread(unread: Unread) -> Iterator[Line]:
    yield Line(Text(not_read(unread)), indent=2, hang=2)


def _name(file: str, run: Run) -> str:
    """A file's name; what lies in the run's folder is named from there."""
    return one_line(file.removeprefix(run.path.rstrip("/") + "/"), LONGEST)


def _origin(origin: str, changed: bool | None) -> str:
    later = ", changed after the run began" if changed else ""
    return SAID_OF_ORIGIN.get(origin, one_line(origin)) + later
