"""`stethoscope watch RUN`: a run that is still training, judged live."""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope.watching.alerts import Alert
    from stethoscope.watching.session import Teller
    from stethoscope.watching.state import State
    from stethoscope.watching.views import View
    from stethoscope.watching.watch import Watch

EVERY_SECONDS = 2.0
SHORTEST_SECONDS = 0.1
NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})  # a pipe, a terminal that is closed
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows knows no SIGHUP


@click.command(
    "watch",
    short_help="Judge a run live while it trains.",
    epilog="\b\nExamples:\n"
    "  stethoscope watch examples/nano-sr --once\n"
    "  stethoscope watch examples/protein-sedd-cured --until-done --format json",
)
@click.argument("run", type=click.Path())
@click.option(
    "--every",
    type=click.FloatRange(min=SHORTEST_SECONDS),
    default=EVERY_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="The least time between two looks; a run that takes long to judge is looked at less often.",
)
@click.option("--once", is_flag=True, help="Show how the run stands and end; no bell, no webhook.")
@click.option("--bell", is_flag=True, help="Ring the terminal's bell for every alert.")
@click.option(
    "--webhook",
    metavar="URL",
    envvar="STETHOSCOPE_WEBHOOK",
    help="Post every alert to this address as JSON, at most 6 messages an hour, then a summary. "
    "STETHOSCOPE_WEBHOOK in the environment does the same and shows in no list of processes.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A live view for people, or one JSON object (schema 1) a line for every change.",
)
@click.option("--until-done", is_flag=True, help="End when the log says that the run has ended.")
def command(
    run: str, every: float, once: bool, bell: bool, webhook: str | None, format_: str, until_done: bool
) -> int:
    """Judge RUN live while it trains, by the same rules as `diagnose`.

    RUN is the folder of a training run or a log of any format that `stethoscope logs` reads; one that does
    not exist yet is waited for. Only what was added is read, and watching takes a few per cent of one core
    at most. What is found is told once, and again when it gets worse or comes back. Into a pipe or a file go
    plain lines. Ctrl-C ends with a summary.

    Exit status, as the run stands at the end: 0 nothing wrong; 1 something found; 2 nothing could be
    examined.
    """
    from stethoscope.cli._patience import patience
    from stethoscope.cli._stdout import prepare
    from stethoscope.report.clean_text import one_line
    from stethoscope.watching.followed_run import must_be_watchable
    from stethoscope.watching.session import Teller
    from stethoscope.watching.watch import Watch
    from stethoscope.watching.webhook import Webhook

    must_be_watchable(run)
    teller = Teller(bell, Webhook(webhook) if webhook and not once else None)
    prepare("utf-8" if format_ == "json" else None)
    watch = Watch(run)
    with patience(f"reading {one_line(run, 60)}"):
        first = watch.look()
    if once:
        return _shown_once(watch.state, format_)
    view = _view(format_)
    with _ended_by_signals():
        _watched(watch, view, teller, first, every, until_done)
        return _finished(watch, view, teller)


def _shown_once(state: State, format_: str) -> int:
    """Write the state and give the exit status; what `diagnose` could not examine is an error here, too."""
    import time

    from stethoscope.cli._stdout import put
    from stethoscope.errors import NothingToRead
    from stethoscope.report.line import printed
    from stethoscope.report.terminal import ascii_only, console
    from stethoscope.watching import json_lines, plain_lines

    if state.diagnosis is None:
        raise NothingToRead(state.waiting or state.problem)
    if format_ == "json":
        put(json_lines.line(json_lines.of_state(state, time.time())))
    else:
        put(printed(plain_lines.summary(state, ascii_only(console())), console()))
    return _status(state)


def _status(state: State) -> int:
    from stethoscope.cli.diagnose import COULD_NOT_EXAMINE, exit_status

    return exit_status(state.diagnosis) if state.diagnosis is not None else COULD_NOT_EXAMINE


def _view(format_: str) -> View:
    from stethoscope.watching.views import JsonView, PlainView, TerminalView, can_be_drawn_on

    if format_ == "json":
        return JsonView()
    return TerminalView() if can_be_drawn_on() else PlainView()


def _watched(
    watch: Watch, view: View, teller: Teller, first: tuple[Alert, ...], every: float, until_done: bool
) -> None:
    """Watch until the end; an interrupt, a closed terminal and a reader who has left are ends like others."""
    from stethoscope.cli._stdout import discard_the_rest
    from stethoscope.watching.session import keep_watching

    try:
        with view:
            keep_watching(watch, view, teller, first, every, until_done)
    except KeyboardInterrupt:
        pass
    except OSError as problem:
        if problem.errno not in NOBODY_READS:
            raise
        discard_the_rest()


def _finished(watch: Watch, view: View, teller: Teller) -> int:
    """The last words; a second interrupt cuts them short."""
    from stethoscope.cli._stdout import discard_the_rest

    status = _status(watch.state)
    watch.refresh()
    with suppress(KeyboardInterrupt):
        try:
            view.finish(watch.state, status)
        except OSError:  # the terminal is closed, the reader has left
            discard_the_rest()
        teller.finish(watch.state)
    return status


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Within this block the signals that end a program do as Ctrl-C does: a terminal is left as it was."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
