"""`stethoscope compare GOOD BAD`: the first step at which two runs part, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stethoscope.errors import NothingToRead

if TYPE_CHECKING:
    from stethoscope.compare import Comparison

THE_SAME = 0
THEY_PART = 1


@click.command(
    "compare",
    short_help="Find where two runs part, and what differs.",
    epilog="\b\nExamples:\n"
    "  stethoscope compare examples/nano-sr-cured examples/nano-sr\n"
    "  stethoscope compare examples/nano-sr-cured examples/nano-sr --format markdown\n"
    "  stethoscope compare examples/nano-sr-cured examples/nano-sr --plot ~/parting.svg --force",
)
@click.argument("good", type=click.Path(), nargs=-1, required=True)
@click.argument("bad", type=click.Path())
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs, Markdown for an issue.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(min=0, max=0.5, min_open=True),
    default=0.01,
    show_default=True,
    help="The chance that two runs that differ in their seeds alone are said to part.",
)
@click.option("--plot", type=click.Path(), help="Draw the signals that part first: .svg, .png or .html.")
@click.option("--force", is_flag=True, help="Overwrite the picture.")
@click.option("--redact", is_flag=True, help="Replace paths, hosts, users and secrets by placeholders.")
@click.option("--verbose", "-v", is_flag=True, help="Show every signal, difference and finding.")
def command(
    good: Sequence[str],
    bad: str,
    format_: str,
    alpha: float,
    plot: str | None,
    force: bool,
    redact: bool,
    verbose: bool,
) -> int:
    """Find the first step at which BAD parts from GOOD by more than noise, and what differs between them.

    The last path is the bad run. Several good runs, such as other seeds, may stand before it: they measure
    how much healthy runs differ. Settings, source and surroundings are held against those of the first.

    Exit status: 0 the runs do not part; 1 they do; 2 they could not be compared.
    """
    from stethoscope.cli._output import refuse_to_overwrite
    from stethoscope.cli._paths import must_exist
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.compare import compare
    from stethoscope.report.clean_text import one_line

    for path in (*good, bad):
        must_exist(path)
    if plot is not None and not force:
        refuse_to_overwrite(plot)
    with patience(f"comparing {one_line(bad, 60)}"):
        compared = compare(good, bad, alpha=alpha)
        _must_share_signals(compared, bad)
        compared = _redacted(compared) if redact else compared
        written = _rendered(compared, format_, verbose)
    if plot is not None:
        _draw(compared, Path(plot))
    prepare("utf-8" if format_ == "json" else None)
    put(written)
    return THEY_PART if compared.parts else THE_SAME


def _must_share_signals(compared: Comparison, bad: str) -> None:
    """Refuse runs of which nothing can be held against each other: silence would look like sameness."""
    from stethoscope.compare.parting import FEWEST_POINTS

    signals = compared.signals
    if compared.parts or signals.identical or any(one.points >= FEWEST_POINTS for one in signals.compared):
        return
    reasons = "; ".join(f"{name}: {why}" for name, why in signals.left_out[:3])
    raise NothingToRead(
        f"{bad} and the good run share no signal that could be compared{f' ({reasons})' if reasons else ''}; "
        "`stethoscope logs` lists what each of them has."
    )


def _redacted(compared: Comparison) -> Comparison:
    from stethoscope.report.redact import redacted

    return redacted(compared)


def _rendered(compared: Comparison, format_: str, verbose: bool) -> str:
    if format_ == "json":
        from stethoscope.report import compare_json

        return compare_json.render(compared)
    if format_ == "markdown":
        from stethoscope.report import compare_markdown

        return compare_markdown.render(compared)
    from stethoscope.report import compare_text
    from stethoscope.report.terminal import console

    return compare_text.render(compared, console(), verbose=verbose)


def _draw(compared: Comparison, path: Path) -> None:
    from stethoscope.figures.save import save
    from stethoscope.report.compare_picture import picture

    save(picture(compared), path)
