"""What is known of every run below the folder, and which of them is examined next.

The scout says which runs there are and when they change; the crew examines them, the latest written first.
A run that keeps changing is examined again only after a rest, so that a training is not slowed down by
whoever watches it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from stethoscope.dashboard.houses import House, number_of
from stethoscope.dashboard.joined.finding import Found, FoundRun, Stamp
from stethoscope.dashboard.joined.summaries import (
    UNREADABLE,
    Keep,
    Outcome,
    Patient,
    Summary,
    examined,
    failed,
)
from stethoscope.errors import StethoscopeError
from stethoscope.signals.ending import STILL_RUNNING, UNKNOWN

if TYPE_CHECKING:
    from stethoscope.dashboard.dashboard import Answering

TICK_SECONDS = 0.25
REST_SECONDS = 10.0  # between two examinations of a run that keeps changing ...
REST_FACTOR = 20.0  # ... or so many times as long as the last one took
LIMIT_SECONDS = 120.0  # for one run; the largest logs take a minute
GRACE_SECONDS = 10.0  # beyond its limit, in which a run may still end by itself
WARM_SECONDS = 10 * 60.0  # since the last line of a log; a run that is silent for longer is not going on


class State(StrEnum):
    """How far the examination of a run has come."""

    WAITING = "waiting"
    EXAMINED = "examined"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """A run of the list. `stamp` is how its files are, `examined` how they were when it was examined.

    `own` are its logs where other runs lie below it; `others` are runs that are kept in the same folder.
    """

    number: str
    inside: str
    stamp: Stamp
    written: float
    own: tuple[str, ...] = ()
    index_state: str = ""
    summary: Summary | None = None
    examined: Stamp | None = None
    again_at: float = 0.0
    others: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """Waiting, examined, or why not."""
        if self.summary is None:
            return State.WAITING
        return State.FAILED if self.summary.verdict == UNREADABLE else State.EXAMINED

    def goes_on(self, now: float) -> bool:
        """Whether the run is still being written to."""
        over = self.summary is not None and self.summary.ended not in {"", STILL_RUNNING, UNKNOWN}
        return not over and now - self.written < WARM_SECONDS


@dataclass(frozen=True, slots=True)
class Progress:
    """How many runs there are, how many are examined, and what hinders."""

    runs: int = 0
    examined: int = 0
    looked: bool = False
    trouble: str = ""
    notes: tuple[str, ...] = ()


class Register:
    """Every run, safe to ask from any thread. `version` changes with whatever there is to see."""

    def __init__(self, house: House, crew: Answering, keep: Keep, at_once: int) -> None:
        self.house = house
        self.version = 0
        self.documents: dict[str, str] = {}
        self.trials: dict[str, str] = {}
        self._crew, self._keep, self._at_once = crew, keep, at_once
        self._rows: dict[str, Row] = {}
        self._asked: dict[str, tuple[Future[Outcome], float]] = {}
        self._looked, self._trouble = False, ""
        self._notes: tuple[str, ...] = ()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    # --- asking

    def rows(self) -> list[Row]:
        """Every run."""
        with self._lock:
            return list(self._rows.values())

    def row(self, number: str) -> Row | None:
        """One run by its number."""
        with self._lock:
            return self._rows.get(number)

    def progress(self) -> Progress:
        """How far the examination of all of them has come."""
        with self._lock:
            examined = sum(row.summary is not None for row in self._rows.values())
            return Progress(len(self._rows), examined, self._looked, self._trouble, self._notes)

    # --- being told

    def found(self, found: Found) -> None:
        """Take note of what the scout has seen."""
        with self._lock:
            before, self._rows = self._rows, {}
            for run in found.runs:
                number = number_of("run", run.inside)
                self._rows[number] = row = self._met(before.get(number), number, run)
                self._meet_others(row, before)
            self.documents = {number_of("document", one): one for one in found.documents}
            self.trials = {number_of("trial", one): one for one in found.trials}
            self._looked, self._trouble, self._notes = True, "", found.notes
            self.version += 1

    def trouble(self, why: str) -> None:
        """Take note that the folder cannot be looked at; what is known of it stays."""
        with self._lock:
            self._trouble = why
            self._looked = True
            self.version += 1

    def learn(self, number: str, stamp: Stamp, summary: Summary) -> None:
        """Take over what somebody who follows the run has found."""
        with self._lock:
            row = self._rows.get(number)
            if row is not None and row.summary != summary:
                self._rows[number] = replace(row, summary=summary, examined=stamp)
                self.version += 1

    def close(self) -> None:
        """Ask for nothing any more."""
        self._closed.set()

    # --- examining

    def _met(self, known: Row | None, number: str, run: FoundRun) -> Row:
        if known is not None:
            return replace(known, stamp=run.stamp, written=run.written, own=run.own, index_state=run.state)
        # A run that was going on may have ended without writing anything.
        is_valid = run.known is not None and not run.known.going
        seen = run.stamp if is_valid else None
        return Row(number, run.inside, run.stamp, run.written, run.own, run.state, run.known, seen)

    def _meet_others(self, row: Row, before: dict[str, Row]) -> None:
        """Rows for the other runs that are kept in a run's folder."""
        for inside in row.others:
            number = number_of("run", inside)
            known = before.get(number) or Row(number, inside, row.stamp, row.written)
            self._rows[number] = replace(known, stamp=row.stamp, written=row.written)

    def _tick(self) -> None:
        while not self._closed.wait(TICK_SECONDS):
            self._ask()

    def _ask(self) -> None:
        """Keep the crew busy with the runs that were written last."""
        with self._lock:
            free = self._at_once - len(self._asked)
            now = time.monotonic()
            due = [
                row
                for row in self._rows.values()
                if row.examined != row.stamp and row.number not in self._asked and row.again_at <= now
            ]
            for row in sorted(due, key=lambda row: -row.written)[: max(0, free)]:
                self._ask_about(row)

    def _ask_about(self, row: Row) -> None:
        try:
            path = str(self.house.path(row.inside))
        except StethoscopeError as problem:
            self._note(row, failed(row.inside, str(problem)), 0.0)
            return
        patient, limit = Patient(path, row.own), LIMIT_SECONDS + GRACE_SECONDS
        answer = self._crew.ask(examined, patient, LIMIT_SECONDS, seconds=limit, rank=-row.written)
        self._asked[row.number] = (answer, time.monotonic())
        answer.add_done_callback(self._hears(row, path))

    def _hears(self, asked: Row, path: str) -> Callable[[Future[Outcome]], None]:
        def heard(answer: Future[Outcome]) -> None:
            with self._lock:
                _, began = self._asked.pop(asked.number, (answer, time.monotonic()))
            try:
                outcome = answer.result()
            except CancelledError:
                return
            except Exception as problem:
                outcome = failed(path, str(problem))
            self._note(asked, outcome, time.monotonic() - began)
            if outcome.summary.verdict != UNREADABLE and asked.index_state:
                self._keep((os.path.abspath(path), asked.index_state, outcome.summary))
            self._ask()

        return heard

    def _note(self, asked: Row, outcome: Outcome, seconds: float) -> None:
        with self._lock:
            row = self._rows.get(asked.number)
            if row is None:
                return
            others = tuple(os.path.relpath(path, self.house.shown) for path in outcome.others)
            again_at = time.monotonic() + max(REST_SECONDS, REST_FACTOR * seconds)
            row = replace(
                row, summary=outcome.summary, examined=asked.stamp, again_at=again_at, others=others
            )
            self._rows[asked.number] = row
            self._meet_others(row, self._rows)
            self.version += 1
