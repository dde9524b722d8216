"""`stethoscope diagnose RUN`: what went wrong with a run, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope import Diagnosis

HEALTHY = 0
SOMETHING_FOUND = 1
COULD_NOT_EXAMINE = 2


@click.command(
    "diagnose",
    short_help="Say what went wrong with a run, and what to change.",
    epilog="\b\nExamples:\n"
    "  stethoscope examples/nano-sr\n"
    "  stethoscope diagnose examples/nano-sr --format json\n"
    "  cat examples/nano-sr/*.log | stethoscope -",
)
@click.argument("run", type=click.Path(), nargs=-1, required=True)
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show every finding, weight, file and unexamined rule.")
def command(run: Sequence[str], config: str | None, code: str | None, format_: str, verbose: bool) -> int:
    """Say what went wrong with RUN, how sure that is, and what to change.

    RUN is the folder of a training run, a single log, or - for a log on standard input. Several paths,
    or a quoted pattern ('run/*.log'), are examined as one run where they fit together. Settings and
    source are looked for in the run, then upwards to the root of its repository. Nothing is executed,
    unpickled or changed.

    Exit status: 0 nothing wrong; 1 something found; 2 nothing could be examined.
    """
    from stethoscope import diagnose
    from stethoscope.cli._paths import expanded, must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.report.clean_text import one_line

    paths = expanded(run)
    for given in filter(None, (config, code)):
        must_exist(given)
    with patience(f"examining {one_line(paths[0], 60)}"):
        diagnosis = diagnose(paths, config=config, code=code)
        written = _rendered(diagnosis, format_, verbose)
    _put(written, format_)
    return exit_status(diagnosis)


def exit_status(diagnosis: Diagnosis) -> int:
    """What the shell is told: notes and benign explanations never count."""
    if diagnosis.verdict == "healthy":
        return HEALTHY
    if diagnosis.verdict == "unknown" and not diagnosis.explanation.symptoms:
        return COULD_NOT_EXAMINE
    return SOMETHING_FOUND


def _rendered(diagnosis: Diagnosis, format_: str, verbose: bool) -> str:
    if format_ == "json":
        from stethoscope.report import json_report

        return json_report.render(diagnosis)
    from stethoscope.report import text_report
    from stethoscope.report.terminal import console

    return text_report.render(diagnosis, console(), verbose=verbose)


def _put(written: str, format_: str) -> None:
    from stethoscope.cli._stdout import prepare, put

    prepare("utf-8" if format_ == "json" else None)
    put(written)
