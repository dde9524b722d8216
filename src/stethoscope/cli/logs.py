"""`stethoscope logs RUN`: every file met, what it was taken for, and every series read."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

import click

from stethoscope.errors import NothingToRead

if TYPE_CHECKING:
    from stethoscope.inventory import Inventory

SOMETHING_READ = 0
NOTHING_READ = 2
NAMES_SUGGESTED = 8

Writer = Callable[[BinaryIO], object]


@click.command(
    "logs",
    short_help="List the files of a run, what was read from them, and export it.",
    epilog="\b\nExamples:\n"
    "  stethoscope logs examples/nano-sr\n"
    "  stethoscope logs examples --series 'val/*'\n"
    "  stethoscope logs 'examples/*/*.log' --format csv | head\n"
    "  stethoscope logs examples/nano-sr --format csv --output ~/series.csv",
)
@click.argument("run", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "csv", "parquet"]),
    default="text",
    show_default=True,
    help="Text for people; JSON with files, series and points; CSV and Parquet with one row per point.",
)
@click.option(
    "--series",
    "patterns",
    metavar="NAME",
    multiple=True,
    help="Only the series of this canonical or logged name, or pattern ('loss*'). May be repeated.",
)
@click.option("--output", type=click.Path(), help="The file to write instead of standard output.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@click.option("--raw", is_flag=True, help="CSV and Parquet: each log's own series, nothing joined.")
@click.option("--no-points", is_flag=True, help="JSON: without the steps and values of the series.")
@click.option("--verbose", "-v", is_flag=True, help="Text: list every file and series, however many.")
def command(
    run: Sequence[str],
    format_: str,
    patterns: Sequence[str],
    output: str | None,
    force: bool,
    raw: bool,
    no_points: bool,
    verbose: bool,
) -> int:
    """List every file of RUN, what it was taken for and what was read from it.

    RUN is the folder of a training run, a tree of many, a log, several of them, a quoted pattern
    ('runs/*/metrics.csv'), or - for standard input. What was skipped is named with the reason.

    CSV and Parquet have the columns run, series, step, value, logged_as, file, axis and segment, which
    counts the stretches between restarts. Values that are not finite are nan, inf and -inf there, and
    the strings "NaN", "Infinity" and "-Infinity" in JSON.

    Exit status: 0 a log was read; 2 none was.
    """
    from stethoscope.cli._output import refuse_to_overwrite
    from stethoscope.cli._paths import expanded
    from stethoscope.cli._patience import patience
    from stethoscope.inventory import take_stock

    if output is None and format_ == "parquet":
        raise click.UsageError("Parquet is no text: name the file to write with --output.")
    if output is not None and not force:
        refuse_to_overwrite(output)
    paths = expanded(run)
    with patience(f"reading {_named(paths[0])}"):
        inventory = take_stock(paths)
        _must_match(inventory, patterns)
        if format_ in {"csv", "parquet"}:
            _must_have_series(inventory)
    if format_ == "text":
        _put_text(inventory, patterns, verbose, output)
    else:
        _put(_writer(inventory, format_, patterns, raw, not no_points), output)
    return _status(inventory)


def _named(path: str) -> str:
    from stethoscope.cli._paths import STDIN
    from stethoscope.report.clean_text import one_line

    return "standard input" if path == STDIN else one_line(path, 60)


def _status(inventory: Inventory) -> int:
    if any(run.logs for run in inventory.runs):
        return SOMETHING_READ
    from stethoscope.report.clean_text import one_line

    click.echo(f"stethoscope: no log found in {one_line(inventory.path)}.", err=True)
    return NOTHING_READ


def _must_match(inventory: Inventory, patterns: Sequence[str]) -> None:
    """Refuse a name that no series has: an empty answer would look like an empty log."""
    from difflib import get_close_matches

    from stethoscope.report.series_summary import chosen

    told = [one for run in inventory.runs for one in run.series.values()]
    for pattern in patterns:
        if told and not chosen(told, [pattern]):
            names = sorted({one.series.name for one in told})
            near = get_close_matches(pattern, names, n=NAMES_SUGGESTED, cutoff=0.5) or names[:NAMES_SUGGESTED]
            more = f" and {len(names) - len(near):,} more" if len(names) > len(near) else ""
            raise NothingToRead(f"no series is called {pattern}. There are {', '.join(near)}{more}.")


def _must_have_series(inventory: Inventory) -> None:
    if not any(run.series for run in inventory.runs):
        raise NothingToRead(f"no series found in {inventory.path}; `stethoscope logs` lists what is there.")


def _put_text(inventory: Inventory, patterns: Sequence[str], verbose: bool, output: str | None) -> None:
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report import inventory_text
    from stethoscope.report.terminal import console, plain_console

    if output is None:
        prepare()
        target = console(widest=None)
        # Piped, a row is one line for the programs behind; COLUMNS asks for the table of a terminal.
        width = target.width if target.is_terminal or os.environ.get("COLUMNS") else None
        put(inventory_text.render(inventory, target, patterns, verbose, width))
        return
    written = inventory_text.render(inventory, plain_console(inventory_text.ENDLESS), patterns, verbose)
    _put(lambda stream: _text(stream).write(written), output)


def _writer(
    inventory: Inventory, format_: str, patterns: Sequence[str], raw: bool, with_points: bool
) -> Writer:
    from stethoscope.report import inventory_json, points, points_csv, points_parquet

    rows = (points.as_logged if raw else points.joined)(inventory.runs, patterns)
    if format_ == "parquet":
        return lambda stream: points_parquet.write(rows, stream)
    if format_ == "csv":
        return lambda stream: points_csv.write(rows, _text(stream))
    return lambda stream: inventory_json.write(inventory, _text(stream), patterns, with_points)


def _text(stream: BinaryIO) -> TextIO:
    # The names of files need not be Unicode.
    return cast("TextIO", codecs.getwriter("utf-8")(stream, "backslashreplace"))


def _put(write: Writer, output: str | None) -> None:
    from stethoscope.cli._output import written_whole
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import discard_the_rest

    if output is not None:
        with patience(f"writing {_named(output)}"), written_whole(output) as stream:
            write(stream)
        return
    try:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        discard_the_rest()
