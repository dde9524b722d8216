"""Everything that one dashboard holds open: the folder, the register, and the processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from stethoscope.dashboard.crew import Crew
from stethoscope.dashboard.following import Followed, Following
from stethoscope.dashboard.gate import Keys
from stethoscope.dashboard.houses import House
from stethoscope.dashboard.joined.summaries import IndexWriter
from stethoscope.dashboard.pages.frame import Frame
from stethoscope.dashboard.register import Register, Row
from stethoscope.dashboard.scout import Scout
from stethoscope.lint.sharing_out import sensible_jobs

ANSWER_SECONDS = 300.0  # for what somebody waits for
AT_THE_DESK = 2  # processes that answer pages, beside those that go through the runs


class Closable(Protocol):
    """Something that holds processes."""

    def close(self) -> None:
        """End them at once."""


class Answering(Closable, Protocol):
    """Whoever does what is asked, in a process or here."""

    def ask(
        self, function: Callable[..., Any], *given: Any, seconds: float, rank: float = 0.0
    ) -> Future[Any]:
        """Have `function(*given)` done."""


class Watching(Closable, Protocol):
    """Whoever follows runs."""

    def follow(self, number: str, path: str) -> Followed | None:
        """Begin to follow a run, or go on."""


@dataclass(slots=True)
class Dashboard:
    """A folder under observation, and whoever works for it."""

    house: House
    keys: Keys
    register: Register
    desk: Answering
    following: Watching
    others: tuple[Closable, ...] = ()
    read_only: bool = False
    closing: bool = False

    @property
    def frame(self) -> Frame:
        """What its pages share."""
        return Frame(self.house.shown, self.keys.csrf, self.read_only)

    def ask(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        """Have something done for somebody who waits."""
        return self.desk.ask(function, *given, seconds=ANSWER_SECONDS)

    def follow(self, row: Row) -> Followed | None:
        """Follow a run; raises NothingToRead where it is gone."""
        return self.following.follow(row.number, str(self.house.path(row.inside)))

    def close(self) -> None:
        """End everything, whatever it is doing."""
        self.closing = True
        for one in (self.register, *self.others, self.following, self.desk):
            one.close()


def opened(house: House, keys: Keys, read_only: bool = False) -> Dashboard:
    """A dashboard with its processes: one looks for runs, some examine them, some answer pages."""
    background = max(1, sensible_jobs() - 1)
    crew = Crew(background)
    writer = IndexWriter()
    register = Register(house, crew, writer.keep, at_once=2 * background)
    scout = Scout(house, register.found, register.trouble)
    desk = Crew(AT_THE_DESK, niceness=0)
    return Dashboard(house, keys, register, desk, Following(), (scout, crew, writer), read_only)
