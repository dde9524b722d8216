"""`stethoscope settings PATH`: what the settings ask for, and what really takes place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope.run import Run
    from stethoscope.signals.training_plan import TrainingPlan

SOMETHING_KNOWN = 0


@click.command(
    "settings",
    short_help="Show what the settings ask for, and what takes place.",
    epilog="\b\nExamples:\n"
    "  stethoscope settings examples/protein-sedd\n"
    "  stethoscope settings examples/nano-sr --format json",
)
@click.argument("path", type=click.Path())
@click.option("--config", type=click.Path(), help="The settings file to use instead of those found.")
@click.option("--code", type=click.Path(), help="The source, a file or folder, to use instead of that found.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A table for people, JSON (schema 1) for programs.",
)
def command(path: str, config: str | None, code: str | None, format_: str) -> int:
    """Show every quantity of the training at PATH: asked for, in effect, and from where that is known.

    PATH is the folder of a run, a log, a project or a settings file. What was asked for comes from the
    settings (files, command lines, defaults of parsers), what is in effect from the log, else from the
    source. Nothing is executed.

    Exit status: 0 something is known of the training; 2 nothing is.
    """
    from stethoscope.cli._paths import must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.errors import NothingToRead
    from stethoscope.read import read
    from stethoscope.report.clean_text import one_line
    from stethoscope.signals.missing import Missing
    from stethoscope.signals.training_plan import measure

    for given in filter(None, (path, config, code)):
        must_exist(given)
    with patience(f"reading {one_line(path, 60)}"):
        run = read(path, config, code)
        plan = measure(run)
        if isinstance(plan, Missing):
            raise NothingToRead(f"{path}: {plan.why}.")
        written = _rendered(plan, run, format_)
    prepare("utf-8" if format_ == "json" else None)
    put(written)
    return SOMETHING_KNOWN


def _rendered(plan: TrainingPlan, run: Run, format_: str) -> str:
    from stethoscope.report import settings_json, settings_table
    from stethoscope.report.terminal import console

    if format_ == "json":
        return settings_json.render(plan, run)
    return settings_table.render(plan, run, console(widest=None))
