"""One run that somebody looks at, followed by a process of its own while it trains.

The process looks as `stethoscope watch` does, and sends the report whenever it changed. It ends a while after
the last page that shows the run was closed.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from stethoscope.dashboard.changes import Json, Shown, blocks_of
from stethoscope.dashboard.crew import context, ended, prepare
from stethoscope.dashboard.joined.summaries import Summary, summary_of
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.page import content
from stethoscope.watching import spoken
from stethoscope.watching.state import State
from stethoscope.watching.watch import Watch

EVERY_SECONDS = 0.4
REST_FACTOR = 2.0  # a look that takes a second is followed by two of rest
MOST_FOLLOWED = 8
KEPT_SECONDS = 30.0  # after the last page was closed: who reloads a page finds it as it was
MOST_ALERTS = 5


@dataclass(frozen=True, slots=True)
class Look:
    """What the process sends: the report, and the line of the list."""

    shown: Shown
    summary: Summary | None


class Following:
    """The runs that are looked at. Each has a number of readers; those without any are let go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followed: dict[str, Followed] = {}
        self._closed = False

    def follow(self, number: str, path: str) -> Followed | None:
        """Begin to follow a run, or go on; None where too many are followed already."""
        with self._lock:
            self._let_go()
            if self._closed:
                return None
            known = self._followed.get(number)
            if known is not None and known.alive:
                known.asked = time.monotonic()
                return known
            idle = [one for one, followed in self._followed.items() if not followed.readers]
            if len(self._followed) >= MOST_FOLLOWED and idle:
                self._followed.pop(min(idle, key=lambda one: self._followed[one].asked)).close()
            if len(self._followed) >= MOST_FOLLOWED:
                return None
            followed = self._followed[number] = Followed(path)
            return followed

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            for followed in self._followed.values():
                followed.close()
            self._followed.clear()

    def _let_go(self) -> None:
        now = time.monotonic()
        for number, followed in list(self._followed.items()):
            idle = not followed.readers and now - followed.asked > KEPT_SECONDS
            if idle or not followed.alive:
                followed.close()
                del self._followed[number]


@dataclass(slots=True)
class Followed:
    """A run with its process; `look` is the last that it sent, and `version` counts them."""

    path: str
    version: int = 0
    look: Look | None = None
    readers: int = 0
    asked: float = field(default_factory=time.monotonic)
    alive: bool = True
    _process: BaseProcess | None = None

    def __post_init__(self) -> None:
        chosen = context()
        line, other = chosen.Pipe()
        self._process = chosen.Process(target=_follow, args=(self.path, other), daemon=True)
        self._process.start()
        other.close()
        threading.Thread(target=self._listen, args=(line,), daemon=True).start()

    def close(self) -> None:
        """End the process."""
        self.alive = False
        if self._process is not None:
            ended(self._process)

    def _listen(self, line: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                self.look = line.recv()
                self.version += 1
        self.alive = False


def _follow(path: str, line: Connection) -> None:
    """Look until nobody listens."""
    prepare(niceness=0)
    watch, drawn, last = Watch(path), None, None
    shown, summary = Shown(), None
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            began = time.monotonic()
            watch.look()
            state = watch.state
            if state.diagnosis is not None and state.diagnosis is not drawn:
                drawn = state.diagnosis
                report = content(drawn)
                charts = report.data["charts"]
                assert isinstance(charts, list)
                shown, summary = (
                    Shown(report.title, blocks_of(report.markup), charts),
                    summary_of(drawn, path),
                )
            look = Look(Shown(shown.title, shown.blocks, shown.charts, _status(state, watch.over)), summary)
            if look != last:
                line.send(look)
                last = look
            if line.poll(max(EVERY_SECONDS, REST_FACTOR * (time.monotonic() - began))):
                line.recv()  # nobody says anything: this is the end


def _status(state: State, over: bool) -> Json:
    """What stands above the report. Times are moments, so that they do not change by themselves."""
    return {
        "over": over,
        "stalled": state.beat.stalled,
        "progress": spoken.progress(state.beat) if state.diagnosis is not None else "",
        "judged": state.judged_at,
        "waiting": one_line(state.waiting, 300),
        "problem": one_line(state.problem, 300),
        "alerts": [
            {"at": round(at), "said": spoken.alert(alert).plain} for at, alert in state.alerts[-MOST_ALERTS:]
        ],
    }
