"""One run examined: whatever happens, there is a summary."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.errors import StethoscopeError
from stethoscope.triage.summary import UNREADABLE, Summary, SummaryCause

if TYPE_CHECKING:
    from stethoscope.diagnose import Diagnosis
    from stethoscope.run import Log

MOST_CAUSES = 3
MOST_SYMPTOMS = 12


class TookTooLong(Exception):
    """The time that one run may take is over."""


@dataclass(frozen=True, slots=True)
class Patient:
    """A run to be examined: the path it is known by, and its own files where not all below are its own."""

    path: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The summary of a run, and the paths of other runs that are kept in the same folder."""

    summary: Summary
    others: tuple[str, ...] = ()


def examined(patient: Patient, seconds: float) -> Outcome:
    """Examine a run in at most so many seconds."""
    path = patient.path
    try:
        with _at_most(seconds):
            return _outcome(patient)
    except TookTooLong:
        return failed(path, f"it took longer than {seconds:g} s; `stethoscope {path}` takes its time")
    except StethoscopeError as problem:
        return failed(path, str(problem))
    except MemoryError:
        return failed(path, "there is not enough memory to read it")
    except Exception as bug:
        said = f"a fault of stethoscope, not of the run: {type(bug).__name__}: {bug}; please report it"
        return failed(path, said)


def failed(path: str, why: str) -> Outcome:
    """The line of a run that could not be examined."""
    return Outcome(Summary(path, _name(path), UNREADABLE, error=why, last_written=_changed(path)))


def _name(path: str) -> str:
    return os.path.basename(os.path.normpath(path)) or path


def _changed(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _outcome(patient: Patient) -> Outcome:
    from stethoscope.diagnose import diagnose

    begun = time.monotonic()
    diagnosis = diagnose(patient.files or patient.path)
    summary = summary_of(diagnosis, patient.path, time.monotonic() - begun)
    if patient.files or not any(one.another_run for one in diagnosis.run.unread):
        return Outcome(summary)
    return Outcome(summary, tuple(_others(patient.path, diagnosis.run.logs)))


def _others(path: str, known: Sequence[Log]) -> Iterator[str]:
    """The other runs of a folder that keeps several, by the paths under which each is read alone."""
    from stethoscope.inventory import take_stock

    files = {log.file for log in known}
    for run in take_stock(path).runs:
        if not files & {log.file for log in run.logs}:
            yield run.path


def summary_of(diagnosis: Diagnosis, path: str, seconds: float = 0.0) -> Summary:
    """A diagnosis in one line."""
    from stethoscope.signals.ending import STILL_RUNNING

    run, explanation = diagnosis.run, diagnosis.explanation
    standing = [cause for cause in explanation.causes if cause.stands and not cause.consequence_of]
    likely = standing or [cause for cause in explanation.causes[:1] if explanation.symptoms]
    causes = tuple(
        SummaryCause(
            one.name, one.entry.cause.title, round(float(one.probability), 4), str(one.standing.value)
        )
        for one in likely[:MOST_CAUSES]
    )
    written = [log.last_written for log in run.logs if log.last_written is not None]
    return Summary(
        path,
        run.name,
        diagnosis.verdict.value,
        causes,
        tuple(dict.fromkeys(found.rule.code for found in explanation.symptoms))[:MOST_SYMPTOMS],
        run.steps[0] if run.steps else None,
        run.steps[1] if run.steps else None,
        max(written, default=_newest(run.logs)),
        diagnosis.ending.how,
        diagnosis.ending.how == STILL_RUNNING,
        _next(diagnosis),
        seconds=round(seconds, 4),
    )


def _newest(logs: Sequence[Log]) -> float | None:
    times = [time for log in logs if (time := _changed(log.file)) is not None]
    return max(times, default=None)


def _next(diagnosis: Diagnosis) -> str:
    """What to do next, in one sentence."""
    if diagnosis.verdict.value == "healthy":
        return ""
    advised = diagnosis.prescription
    if advised.edits:
        edit = advised.edits[0]
        return f"{edit.remedy.replace('-', ' ')} in {edit.file}"
    if advised.advice:
        return advised.advice[0]
    if diagnosis.explanation.ask:
        return diagnosis.explanation.ask[0].what
    return advised.log_next_time[0] if advised.log_next_time else ""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TookTooLong after so many seconds, where the platform has timers and this is the main thread."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or seconds <= 0:
        yield
        return

    def end(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
