"""Who is shown what: a person at a terminal, a file or pipe, or a program."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line, printed
from stethoscope.report.terminal import ascii_only, console
from stethoscope.watching import json_lines, plain_lines, spoken
from stethoscope.watching.alerts import Alert
from stethoscope.watching.screen import Screen
from stethoscope.watching.state import State

SIGN_OF_LIFE_SECONDS = 600.0


class View(Protocol):
    """A way to show a run under watch, open from `__enter__` to `__exit__`."""

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tell(self, state: State, alerts: Iterable[Alert]) -> None:
        """Take in what a look gave."""
        ...

    def trouble(self, state: State, message: str) -> None:
        """Say what hinders the watching or the telling; "" where it is over."""
        ...

    def draw(self, state: State) -> None:
        """Show the present moment."""
        ...

    def finish(self, state: State, status: int) -> None:
        """Say how it stands at the end."""
        ...


@dataclass(slots=True)
class TerminalView:
    """The whole terminal, drawn again as time goes by; afterwards what was there before, and a summary."""

    _trouble: str = ""
    _live: Live = field(init=False)

    def __post_init__(self) -> None:
        colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        # The width is not fixed: it follows the window. Text from strangers' files is never read as markup.
        target = Console(file=sys.stdout, color_system=colours, markup=False, highlight=False, emoji=False)
        self._live = Live(
            console=target, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> TerminalView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tell(self, state: State, alerts: Iterable[Alert]) -> None:
        """Nothing but to draw: alerts are part of the state."""
        self.draw(state)

    def trouble(self, state: State, message: str) -> None:
        """Keep it in the last row."""
        self._trouble = message

    def draw(self, state: State) -> None:
        """Draw the state for the size that the terminal has; raises OSError where it is closed."""
        if not sys.stdout.isatty():  # rich would pass over it without a word
            raise OSError(errno.EIO, "the terminal is closed")
        self._live.update(Screen(state, self._footer(state)), refresh=True)

    def finish(self, state: State, status: int) -> None:
        """Leave a summary behind."""
        _write_lines(plain_lines.summary(state, ascii_only(console())))

    def _footer(self, state: State) -> str:
        judged = f"judged at {spoken.at(state.judged_at)} in {state.cost:.2g} s, " if state.judged_at else ""
        trouble = f"{one_line(self._trouble)}; " if self._trouble else ""
        return f"{trouble}{judged}Ctrl-C ends"


@dataclass(slots=True)
class PlainView:
    """Lines as things happen: the state at first, alerts, another verdict, a sign of life now and then."""

    _shown: bool = False
    _verdict: object = None
    _waiting: str = ""
    _last_sign: float = 0.0

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tell(self, state: State, alerts: Iterable[Alert]) -> None:
        """Write what is different."""
        now = time.time()
        if state.waiting != self._waiting:
            self._waiting = state.waiting
            if state.waiting:
                _write_lines([Line(Text(f"{spoken.at(now)} {spoken.waiting(state)}"), hang=9)])
        if state.diagnosis is None:
            return
        if not self._shown:
            self._shown, self._verdict, self._last_sign = True, state.diagnosis.verdict, now
            _write_lines(plain_lines.summary(state, ascii_only(console())))
            return
        _write_lines(plain_lines.alert(told, now) for told in alerts)
        if state.diagnosis.verdict != self._verdict or now - self._last_sign >= SIGN_OF_LIFE_SECONDS:
            self._verdict, self._last_sign = state.diagnosis.verdict, now
            _write_lines([plain_lines.sign_of_life(state, now)])

    def trouble(self, state: State, message: str) -> None:
        """Problems go to standard error."""
        if message:
            _complain(message)

    def draw(self, state: State) -> None:
        """Lines stay as they were written."""

    def finish(self, state: State, status: int) -> None:
        """The summary once more, as it stands at the end."""
        _write_lines(plain_lines.summary(state, ascii_only(console())))


@dataclass(slots=True)
class JsonView:
    """One JSON object a line for everything that changes."""

    _essence: object = None
    _waiting: str = ""

    def __enter__(self) -> JsonView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tell(self, state: State, alerts: Iterable[Alert]) -> None:
        """Write what is different."""
        now = time.time()
        if state.waiting != self._waiting:
            self._waiting = state.waiting
            if state.waiting:
                write(json_lines.line(json_lines.of_waiting(state, now)))
        essence = json_lines.essence(state)
        if essence is not None and essence != self._essence:
            self._essence = essence
            write(json_lines.line(json_lines.of_state(state, now)))
        for told in alerts:
            write(json_lines.line(json_lines.of_alert(told, state, now)))

    def trouble(self, state: State, message: str) -> None:
        """A problem is a change, too."""
        if message:
            write(json_lines.line(json_lines.of_problem(state, message, time.time())))

    def draw(self, state: State) -> None:
        """A program has no screen."""

    def finish(self, state: State, status: int) -> None:
        """The last state, with what the shell is told."""
        last = json_lines.of_state(state, time.time(), "end")
        write(json_lines.line({**last, "exit_status": status}))


def can_be_drawn_on() -> bool:
    """Whether standard output is a terminal that can be drawn on, not one that only prints."""
    return sys.stdout.isatty() and not Console(file=sys.stdout).is_dumb_terminal


def write(text: str) -> None:
    """Write to standard output at once; a reader who has left ends the watching by BrokenPipeError."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _write_lines(lines: Iterable[Line]) -> None:
    write(printed(lines, console()))


def _complain(message: str) -> None:
    sys.stderr.write(f"stethoscope: {one_line(message)}\n")
    sys.stderr.flush()
