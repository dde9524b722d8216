"""`stethoscope review NOTES.md --run RUN`: a second opinion on a written diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stethoscope.cli._stdout import put_as

if TYPE_CHECKING:
    from stethoscope.review import Review

NOTHING_OBJECTIONABLE, SOMETHING_OBJECTIONABLE = 0, 1


@click.command(
    "review",
    short_help="Judge what a written diagnosis proposes.",
    epilog="\b\nExamples:\n"
    "  stethoscope review docs/examples/advice.md --run examples/nano-sr\n"
    "  stethoscope review docs/examples/advice.md --format json",
)
@click.argument("notes", type=click.Path(), nargs=-1, required=True)
@click.option("--run", "run", type=click.Path(), help="The run that the notes are about.")
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs, Markdown for issues.",
)
@click.option("--redact", is_flag=True, help="Replace paths, hosts, users and secrets by placeholders.")
@click.option("--verbose", "-v", is_flag=True, help="Show all evidence, commands and unjudged sentences.")
def command(
    notes: Sequence[str],
    run: str | None,
    config: str | None,
    code: str | None,
    format_: str,
    redact: bool,
    verbose: bool,
) -> int:
    """Judge each change that NOTES propose, and each figure that they state.

    NOTES are documents as people paste them from a forum or an assistant, mostly Markdown. Proposed changes
    are read from blocks of settings, before and after, tables, diffs and sentences, and looked up in the
    settings and the source of RUN. Each is called supported, refuted, no effect, changes the yardstick,
    unknown key, harmful or untested, with the evidence and the trial that would settle it. Then comes what
    the diagnosis found and NOTES do not mention; of several documents, what contradicts. Explanations in
    prose are listed and never judged. Nothing is executed.

    Exit status: 0 nothing to object to (all supported or untested, nothing missed); 1 something refuted,
    harmful, without effect, unknown, of another yardstick, or missed; 2 the notes or the run could not be
    read.
    """
    from stethoscope.cli._paths import expanded, must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.report.clean_text import one_line

    paths = expanded(notes)
    for given in filter(None, (run, config, code)):
        must_exist(given)
    with patience(f"reviewing {one_line(paths[0], 60)}"):
        result = _reviewed(paths, run, config, code)
        written = _rendered(_redacted(result) if redact else result, format_, verbose)
    put_as(written, format_)
    return SOMETHING_OBJECTIONABLE if result.is_objectionable else NOTHING_OBJECTIONABLE


def _reviewed(paths: Sequence[str], run: str | None, config: str | None, code: str | None) -> Review:
    from pathlib import Path

    from stethoscope import diagnose
    from stethoscope.clinic.recorded import RECORDS
    from stethoscope.review import read_document, recorded_in, review
    from stethoscope.review.document import text_of

    readings = [read_document(text_of(Path(path)), path) for path in paths]
    target = run or config or code
    diagnosis = diagnose(target, config=config, code=code) if target else None
    return review(readings, diagnosis, recorded_in(RECORDS) if diagnosis else ())


def _redacted(result: Review) -> Review:
    from stethoscope.report.redact import redacted

    return redacted(result)


def _rendered(result: Review, format_: str, verbose: bool) -> str:
    if format_ == "json":
        from stethoscope.report import review_json

        return review_json.render(result)
    if format_ == "markdown":
        from stethoscope.report import review_markdown

        return review_markdown.render(result)
    from stethoscope.report import review_text
    from stethoscope.report.terminal import console

    return review_text.render(result, console(), verbose=verbose)
