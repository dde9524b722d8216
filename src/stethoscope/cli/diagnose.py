"""`stethoscope diagnose RUN`: what went wrong with a run, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
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
    "  stethoscope diagnose examples/nano-sr --format html --out ~/reports/nano-sr.html\n"
    "  cat examples/nano-sr/*.log | stethoscope -",
)
@click.argument("run", type=click.Path(), nargs=-1, required=True)
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "html", "markdown", "json", "sarif"]),
    default="text",
    show_default=True,
    help="Text for people, HTML to look at, Markdown for issues, JSON (schema 1) and SARIF for programs.",
)
@click.option("--out", type=click.Path(), help="Write the report to this file instead of standard output.")
@click.option("--figures", type=click.Path(), help="Write each chart into this folder, as SVG and PNG.")
@click.option("--redact", is_flag=True, help="Replace paths, hosts, users and secrets by placeholders.")
@click.option("--verbose", "-v", is_flag=True, help="Show every finding, weight, file and unexamined rule.")
def command(
    run: Sequence[str],
    config: str | None,
    code: str | None,
    format_: str,
    out: str | None,
    figures: str | None,
    redact: bool,
    verbose: bool,
) -> int:
    """Say what went wrong with RUN, how sure that is, and what to change.

    RUN is the folder of a training run, a single log, or - for a log on standard input. Several paths,
    or a quoted pattern ('run/*.log'), are examined as one run where they fit together. Settings and
    source are looked for in the run, then upwards to the root of its repository. Nothing is executed,
    unpickled or changed. An HTML report is one file that needs no network.

    Exit status: 0 nothing wrong; 1 something found; 2 nothing could be examined.
    """
    from stethoscope import diagnose
    from stethoscope.cli._paths import expanded, must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.report.clean_text import one_line

    if format_ == "html" and out is None and sys.stdout.isatty():
        raise click.UsageError("an HTML report is nothing for a terminal; name a file: --out report.html")
    paths = expanded(run)
    for given in filter(None, (config, code)):
        must_exist(given)
    with patience(f"examining {one_line(paths[0], 60)}"):
        diagnosis = diagnose(paths, config=config, code=code)
        diagnosis = _redacted(diagnosis) if redact else diagnosis
        written = _rendered(diagnosis, format_, verbose, to_file=out is not None)
        if figures is not None:
            _draw(diagnosis, figures)
    _put(written, format_, out)
    return exit_status(diagnosis)


def exit_status(diagnosis: Diagnosis) -> int:
    """What the shell is told: notes and benign explanations never count."""
    if diagnosis.verdict == "healthy":
        return HEALTHY
    explanation = diagnosis.explanation
    if diagnosis.verdict == "unknown" and not (explanation.symptoms or explanation.standstill):
        return COULD_NOT_EXAMINE
    return SOMETHING_FOUND


def _rendered(diagnosis: Diagnosis, format_: str, verbose: bool, to_file: bool) -> str:
    if format_ == "text":
        from stethoscope.report import text_report
        from stethoscope.report.terminal import WIDEST, console, plain_console

        target = plain_console(WIDEST) if to_file else console()
        return text_report.render(diagnosis, target, verbose=verbose)
    if format_ == "html":
        from stethoscope.report.html.page import page

        return page(diagnosis)
    module = import_module(f"stethoscope.report.{format_}_report")
    rendered: str = module.render(diagnosis)
    return rendered


def _redacted(diagnosis: Diagnosis) -> Diagnosis:
    from stethoscope.report.redact import redacted

    return redacted(diagnosis)


def _draw(diagnosis: Diagnosis, folder: str) -> None:
    from pathlib import Path

    from stethoscope.report.run_figures import write

    write(diagnosis, Path(folder))


def _put(written: str, format_: str, out: str | None) -> None:
    from stethoscope.cli._output import written_whole
    from stethoscope.cli._stdout import prepare, put

    if out is None:
        prepare(None if format_ == "text" else "utf-8")
        put(written)
        return
    with written_whole(out) as stream:
        stream.write(written.encode("utf-8", errors="backslashreplace"))
