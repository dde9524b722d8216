"""The runs below a folder, each examined once for each state of its files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stethoscope.run import Unread
from stethoscope.signals.ending import STILL_WARM
from stethoscope.triage.examining import Outcome, Patient
from stethoscope.triage.index import Index
from stethoscope.triage.run_paths import RunPath, runs_below
from stethoscope.triage.states import state_of
from stethoscope.triage.summary import UNREADABLE, Summary
from stethoscope.triage.workers import examined_by_processes

SECONDS = 60.0  # for one run; a small one takes a fiftieth of a second
WRITE_EVERY = 64  # runs, so that what was found out stays when a triage is ended

Told = Callable[[int, int, str], None]  # how many are done, of how many, and the last one's path
Examine = Callable[[Sequence[Patient], float], Iterator[tuple[Patient, Outcome]]]


@dataclass(frozen=True, slots=True)
class Triage:
    """The summaries of all runs, how many were remembered, and what was not looked into."""

    path: str
    summaries: tuple[Summary, ...]
    remembered: int = 0
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()


def quietly(done: int, of: int, path: str) -> None:
    """Tell nobody."""


def triage(
    path: str | Path,
    index: Index | None = None,
    *,
    jobs: int = 1,
    seconds: float = SECONDS,
    told: Told = quietly,
    examine: Examine | None = None,
) -> Triage:
    """Examine every run below `path`, but for those of which `index` knows the same state of the files."""
    shown = str(path)
    below = runs_below(Path(shown), shown)
    remembered = _remembered(below.runs, index)
    found = dict(remembered.summaries)
    work = examine or (lambda patients, limit: examined_by_processes(patients, jobs, limit))
    fresh: list[tuple[str, str, Summary]] = []
    told(len(found), len(below.runs), shown)
    for patient, outcome in work(remembered.missing, seconds):
        state = remembered.state(patient.path)
        found[patient.path] = outcome.summary
        told(len(found), max(len(found), len(below.runs)), patient.path)
        if outcome.summary.verdict != UNREADABLE:
            fresh.append((os.path.abspath(patient.path), state, outcome.summary))
        if index is not None and len(fresh) >= WRITE_EVERY:
            index.put(fresh)
            fresh = []
    if index is not None:
        index.put(fresh)
        _forget_what_is_gone(index, shown)
    notes = (index.note,) if index is not None and index.note else ()
    return Triage(shown, tuple(found.values()), len(remembered.summaries), below.unread, notes)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """What is known of the runs, the runs of which nothing is, and the states of all."""

    summaries: dict[str, Summary]
    missing: list[Patient]
    states: dict[str, str]

    def state(self, path: str) -> str:
        """The state of a run; one that is kept in another's folder has the state of that."""
        return self.states.get(path) or self.states.get(os.path.dirname(path), "")


def _remembered(runs: Sequence[RunPath], index: Index | None) -> _Remembered:
    known = _Remembered({}, [], {})
    for run in runs:
        patient = Patient(run.shown, tuple(log.file for log in run.logs) if run.holds_others else ())
        if index is None:
            known.missing.append(patient)
            continue
        state = known.states[run.shown] = state_of(run)
        first = index.get(os.path.abspath(run.shown), state)
        if first is None or _may_have_ended(first):
            known.missing.append(patient)
            continue
        known.summaries[run.shown] = replace(first, path=run.shown)
        for log in run.logs:
            beside = index.get(os.path.abspath(log.file), state)
            if beside is not None:
                known.summaries[log.file] = replace(beside, path=log.file)
    return known


def _may_have_ended(summary: Summary) -> bool:
    """Whether a run that was going on has been silent for so long that it is judged anew."""
    silent = time.time() - (summary.last_written or 0.0)
    return summary.going and not 0.0 <= silent < STILL_WARM


def _forget_what_is_gone(index: Index, shown: str) -> None:
    gone = [path for path in index.paths_below(os.path.abspath(shown)) if not os.path.lexists(path)]
    if gone:
        index.forget(gone)
