"""`stethoscope triage DIR`: all runs below a folder, one line each, the sickest first."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stethoscope.cli._stderr import say
from stethoscope.errors import NothingToRead

if TYPE_CHECKING:
    from stethoscope.triage import Index, Summary, Triage
    from stethoscope.triage.sorting_out import Examine, Told

NOTHING_FOUND = 0
SOMETHING_FOUND = 1
COULD_NOT_EXAMINE = 2
BETWEEN_SECONDS = 0.2  # of two lines of progress


@click.command(
    "triage",
    short_help="List all runs below a folder, the sickest first.",
    epilog="\b\nExamples:\n"
    "  stethoscope triage examples\n"
    "  stethoscope triage examples/nano-sr --cause 'loss-*' --no-cache\n"
    "  stethoscope triage examples/nano-sr-cured --sort recent --limit 5 --format csv",
)
@click.argument("folder", type=click.Path(), metavar="DIR")
@click.option(
    "--verdict",
    "verdicts",
    type=click.Choice(["sick", "at-risk", "unknown", "unreadable", "healthy"]),
    multiple=True,
    help="Only runs with this verdict. May be repeated.",
)
@click.option(
    "--cause",
    "causes",
    multiple=True,
    metavar="NAME",
    help="Only runs with this cause, or pattern ('loss-*').",
)
@click.option("--match", default="", metavar="TEXT", help="Only runs whose path has this text, or pattern.")
@click.option("--since", metavar="WHEN", help="Only runs written since: 30m, 12h, 3d, 2w ago, or a date.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(["sickest", "recent", "name", "steps"]),
    default="sickest",
    show_default=True,
    help="The order of the lines.",
)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many lines.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "csv", "markdown"]),
    default="text",
    show_default=True,
    help="A table for people, JSON (schema 1) or CSV for programs, Markdown for an issue.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="How many processes; as many as cores if not given.")
@click.option("--ray", metavar="ADDRESS", help="Examine on the Ray cluster at this address, or auto.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="How long one run may take before it is given up.",
)
@click.option("--cache", type=click.Path(), metavar="FOLDER", help="Where to remember what was found out.")
@click.option("--no-cache", is_flag=True, help="Examine every run, and remember nothing.")
@click.option("--redact", is_flag=True, help="Replace paths, hosts, users and secrets by placeholders.")
def command(
    folder: str,
    verdicts: Sequence[str],
    causes: Sequence[str],
    match: str,
    since: str | None,
    order: str,
    limit: int | None,
    format_: str,
    jobs: int | None,
    ray: str | None,
    seconds: float,
    cache: str | None,
    no_cache: bool,
    redact: bool,
) -> int:
    """List every run below DIR in one line, the sickest first.

    A line has the verdict, the probable cause and how sure it is, the last step, how long ago it was written,
    whether the run still goes on, and what to do next. A run that could not be read is a line that says why.
    What was found out is remembered in the user's cache folder until a file of the run changes.

    Exit status: 0 nothing wrong with any run; 1 something found; 2 none could be examined.
    """
    from stethoscope.cli._paths import must_exist
    from stethoscope.triage import Choice, chosen, in_order, triage
    from stethoscope.triage.asking import since as moment
    from stethoscope.triage.workers import cores

    must_exist(folder)
    written_since = moment(since, time.time()) if since else None
    choice = Choice(tuple(verdicts), tuple(causes), match, written_since)
    examine = _on_a_cluster(ray) if ray is not None else None
    with _index(cache, no_cache) as index, _progress() as told:
        found = triage(folder, index, jobs=jobs or cores(), seconds=seconds, told=told, examine=examine)
    _must_have_found(found)
    shown = in_order(chosen(found.summaries, choice), order)[:limit]
    if redact:
        from stethoscope.report.redact import redacted

        found, shown = redacted((found, shown))
    _put(found, shown, format_)
    for note in found.notes:
        say(note)
    return _status(found.summaries)


def _status(summaries: Sequence[Summary]) -> int:
    if any(one.is_found_sick for one in summaries):
        return SOMETHING_FOUND
    return NOTHING_FOUND if any(not one.error for one in summaries) else COULD_NOT_EXAMINE


def _must_have_found(found: Triage) -> None:
    if not found.summaries:
        why = "; ".join(f"{one.file}: {one.reason}" for one in found.unread[:3])
        raise NothingToRead(f"no run found below {found.path}{f' ({why})' if why else ''}.")


@contextmanager
def _index(cache: str | None, no_cache: bool) -> Iterator[Index | None]:
    from stethoscope.triage import Index
    from stethoscope.triage.cache_folder import cache_folder

    if no_cache:
        yield None
        return
    with Index(Path(cache) if cache is not None else cache_folder()) as index:
        yield index


def _on_a_cluster(address: str) -> Examine:
    from stethoscope.triage.ray_workers import examined_by_ray
    from stethoscope.trials.ray_cluster import connected

    ray = connected(address)
    return lambda patients, seconds: examined_by_ray(ray, patients, seconds)


@contextmanager
def _progress() -> Iterator[Told]:
    """How far the triage is, on standard error, where somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda done, of, path: None
        return
    from stethoscope.cli._patience import ERASE_LINE

    yield _teller(time.monotonic)
    sys.stderr.write(ERASE_LINE)
    sys.stderr.flush()


def _teller(clock: Callable[[], float]) -> Told:
    from stethoscope.cli._patience import ERASE_LINE, _columns
    from stethoscope.report.clean_text import one_line

    last = [0.0]

    def tell(done: int, of: int, path: str) -> None:
        if clock() - last[0] < BETWEEN_SECONDS and done != of:
            return
        last[0] = clock()
        said = f"{done:,} of {of:,} runs  {one_line(path, 200)}"
        sys.stderr.write(f"{ERASE_LINE}{said[: _columns() - 1]}")
        sys.stderr.flush()

    return tell


def _put(found: Triage, shown: Sequence[Summary], format_: str) -> None:
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report import triage_tables, triage_text
    from stethoscope.report.terminal import console

    prepare("utf-8" if format_ in {"json", "csv"} else None)
    if format_ == "json":
        put(triage_tables.as_json(found, shown))
    elif format_ == "csv":
        put(triage_tables.as_csv(shown))
    elif format_ == "markdown":
        put(triage_tables.as_markdown(found, shown))
    else:
        target = console(widest=None)
        # Piped, a row is whole for the programs behind; COLUMNS asks for the table of a terminal.
        width = target.width if target.is_terminal or os.environ.get("COLUMNS") else None
        put(triage_text.render(found, shown, target, width=width))
