"""`stethoscope check RUN --against stethoscope.toml`: hold a run to a healthy trajectory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope.run import Run
    from stethoscope.trajectory import Judgement, Trajectory

HELD = 0
LEFT = 1
COULD_NOT_EXAMINE = 2
EVERY_SECONDS = 2.0
SHORTEST_SECONDS = 0.1


@click.command(
    "check",
    short_help="Hold a run to a healthy trajectory.",
    epilog="\b\nExamples:\n"
    "  stethoscope check examples/nano-sr --against docs/how-to/healthy-nano-sr.toml\n"
    "  stethoscope check examples/nano-sr-cured --against docs/how-to/healthy-nano-sr.toml --format json",
)
@click.argument("run", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--against",
    type=click.Path(),
    default="stethoscope.toml",
    show_default=True,
    help="The trajectory, as `stethoscope trajectory` writes it and people edit it.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Judge the run while it trains; ends with 1 at the first departure, else when the run does.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=SHORTEST_SECONDS),
    default=EVERY_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="The least time between two looks of --follow.",
)
@click.option("--strict", is_flag=True, help="A signal that could not be examined is exit status 1, too.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown", "github"]),
    default="text",
    show_default=True,
    help="Text for people, JSON (schema 1) for programs, Markdown for a summary, GitHub's annotations.",
)
@click.option("--plot", type=click.Path(), help="Draw the run against its bands, as .svg, .html or .png.")
def command(
    run: Sequence[str],
    against: str,
    follow: bool,
    every: float,
    strict: bool,
    format_: str,
    plot: str | None,
) -> int:
    """Hold RUN to the healthy trajectory of a file: does it stay in its bands, and if not, since when?

    What counts is a level that stays outside, not a noisy value, and all signals together are so judged that
    one healthy run in a hundred leaves any band. A signal that was never logged is not examined, with the
    line of code that would log it; bands behind the end of the run are not reached.

    Exit status: 0 held; 1 a band was left or a warning sign showed; 2 nothing could be examined.
    """
    from stethoscope.cli._paths import expanded
    from stethoscope.cli._patience import patience
    from stethoscope.read import read
    from stethoscope.report.clean_text import one_line
    from stethoscope.trajectory import hold, read_file

    trajectory = read_file(against)
    if follow:
        judgement = _followed(run, trajectory, every)
    else:
        paths = expanded(run)
        with patience(f"reading {one_line(paths[0], 60)}"):
            judgement = hold(read(paths), trajectory)
    _put(judgement, format_)
    if plot is not None:
        _draw(judgement, plot)
    return exit_status(judgement, strict)


def exit_status(judgement: Judgement, strict: bool = False) -> int:
    """What the shell is told."""
    if judgement.departed or (strict and judgement.missing):
        return LEFT
    return HELD if judgement.examined else COULD_NOT_EXAMINE


def _put(judgement: Judgement, format_: str) -> None:
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report import check_github, check_json, check_markdown, check_text
    from stethoscope.report.terminal import console

    prepare(None if format_ == "text" else "utf-8")
    renderers = {"json": check_json, "markdown": check_markdown, "github": check_github}
    if format_ == "text":
        put(check_text.render(judgement, console()))
    else:
        put(renderers[format_].render(judgement))


def _draw(judgement: Judgement, plot: str) -> None:
    from pathlib import Path

    from stethoscope.figures.save import save
    from stethoscope.report.check_picture import picture

    save(picture(judgement), Path(plot))


# --- live


def _followed(run: Sequence[str], trajectory: Trajectory, every: float) -> Judgement:
    """Look again and again, until a band is left or the run is over; Ctrl-C and a silent log end it, too."""
    from stethoscope.trajectory import Judgement, hold
    from stethoscope.watching.followed_run import must_be_watchable

    if len(run) != 1:
        raise click.UsageError("--follow takes one run.")
    must_be_watchable(run[0])
    last: Run | None = None
    try:
        for last, over in _looks(run[0], every):
            judgement = hold(last, trajectory, over=over)
            if over or judgement.departed:
                return judgement
    except KeyboardInterrupt:
        click.echo("stethoscope: interrupted; judged as far as the run has come.", err=True)
    if last is None:
        from stethoscope.run import Run

        return Judgement(trajectory, Run(run[0], run[0]))
    return hold(last, trajectory, over=False)


def _looks(path: str, every: float) -> Iterator[tuple[Run, bool]]:
    """The run as far as it is written, again and again, and whether it is over."""
    from stethoscope.errors import NothingToRead
    from stethoscope.watching import heartbeat
    from stethoscope.watching.followed_run import FollowedRun
    from stethoscope.watching.pace import rest

    followed, known = FollowedRun(path), None
    pulse = None
    while True:
        worked, began = time.process_time(), time.monotonic()
        with suppress(NothingToRead):  # it is waited for
            known = followed.poll() or known
        if known is not None:
            pulse = pulse or heartbeat.began(followed.written, time.time())
            pulse = heartbeat.grown(pulse, time.time()) if followed.has_grown() else pulse
            over = _is_over(known)
            silent = heartbeat.heartbeat(pulse, known, time.time(), over).stalled
            if silent:
                click.echo("stethoscope: the log grows no more; judged as far as the run came.", err=True)
            yield known, over or silent
        spent = (time.process_time() - worked, time.monotonic() - began) if followed.settled else (0.0, 0.0)
        time.sleep(rest(*spent, every))


def _is_over(run: Run) -> bool:
    from stethoscope.signals.ending import STILL_RUNNING, UNKNOWN, measure

    return measure(run).how not in {STILL_RUNNING, UNKNOWN}
