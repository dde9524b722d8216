"""What happened in a run, in the order of its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found
from stethoscope.report.regimes import regimes
from stethoscope.report.telling_series import best_position
from stethoscope.report.words import count, listed, number
from stethoscope.run import Event, EventKind, Run, Where
from stethoscope.run.names import better
from stethoscope.signals.ending import UNKNOWN

STEPS_LISTED = 6
MOST_METRICS = 6  # whose best value is told
FEWEST_VALUES = 3  # fewer have no best worth telling
# What a log may announce many times; the first of each kind is told, with how many followed.
ANNOUNCED = (EventKind.NON_FINITE, EventKind.OVERFLOW, EventKind.RESUMED)


class Kind(StrEnum):
    """What sort of thing happened."""

    START = "start"
    REGIME = "regime"
    RESTART = "restart"
    ONSET = "onset"
    BEST = "best"
    MESSAGE = "message"
    SAVED = "saved"
    CHECKPOINT = "checkpoint"
    END = "end"


@dataclass(frozen=True, slots=True, eq=False)
class Happening:
    """Something that happened at a step, with the finding it is told by, where it is one.

    `axis` says what the step counts. A step of None stands at the end.
    """

    step: int | None
    kind: Kind
    title: str
    series: str | None = None
    found: Found | None = None
    where: Where | None = None
    axis: str = "step"


def timeline(diagnosis: Diagnosis) -> tuple[Happening, ...]:
    """Everything that has a step, then how the run ended."""
    run = diagnosis.run
    told = [
        *_beginning(run),
        *_phases(run),
        *_restarts(run),
        *_announced(run),
        *_onsets(diagnosis),
        *_bests(run),
        *_saved(run),
        *_advised(diagnosis),
    ]
    order = list(Kind)
    told.sort(key=lambda one: (one.step if one.step is not None else -1, order.index(one.kind)))
    return (*told, _ending(diagnosis))


def _beginning(run: Run) -> Iterator[Happening]:
    if run.steps is not None:
        axis = next((s.axis for s in run.series.values() if len(s)), "step")
        yield Happening(run.steps[0], Kind.START, "the log begins", axis=axis)


def _phases(run: Run) -> Iterator[Happening]:
    for regime in regimes(run)[1:]:
        axis = run.series[regime.series].axis
        yield Happening(regime.first, Kind.REGIME, f"learning rate: {regime.title}", regime.series, axis=axis)


def _restarts(run: Run) -> Iterator[Happening]:
    for before, after in pairwise(run.segments):
        again = f"; steps {after.first:,} to {before.last:,} are trained again"
        said = "the run starts again" + (again if after.first <= before.last else "")
        yield Happening(after.first, Kind.RESTART, said, where=Where(after.file))


def _announced(run: Run) -> Iterator[Happening]:
    by_kind: dict[EventKind, list[Event]] = defaultdict(list)
    for event in run.events:
        if event.kind in ANNOUNCED and event.step is not None:
            by_kind[event.kind].append(event)
    for kind, events in by_kind.items():
        first = min(events, key=lambda event: event.step or 0)
        more = f" (and {len(events) - 1:,} more)" if len(events) > 1 else ""
        where = Where(first.file, line=first.line)
        yield Happening(
            first.step, Kind.MESSAGE, f"{kind.value}: {first.message.rstrip('.')}{more}", where=where
        )


def _onsets(diagnosis: Diagnosis) -> Iterator[Happening]:
    for found in diagnosis.explanation.symptoms:
        finding = found.finding
        if finding.onset is not None:
            series = next((place.series for place in finding.places if place.series), None)
            known = diagnosis.run.series.get(series or "")
            axis = known.axis if known is not None else "step"
            yield Happening(finding.onset, Kind.ONSET, finding.message, series, found, axis=axis)


def _bests(run: Run) -> Iterator[Happening]:
    judged = [series for name, series in run.series.items() if name.startswith("val/") and better(name)]
    for series in judged[:MOST_METRICS]:
        at = best_position(series)
        if at is not None and len(series) >= FEWEST_VALUES:
            step, value = int(series.steps[at]), float(series.values[at])
            said = f"best {series.name}: {number(value)}"
            yield Happening(step, Kind.BEST, said, series.name, axis=series.axis)


def _saved(run: Run) -> Iterator[Happening]:
    steps = sorted({one.step for one in run.checkpoints if one.step is not None})
    if steps:
        said = f"{count(len(steps), 'checkpoint')} saved: {listed([f'{s:,}' for s in steps], STEPS_LISTED)}"
        yield Happening(steps[0], Kind.SAVED, said)


def _advised(diagnosis: Diagnosis) -> Iterator[Happening]:
    advised = diagnosis.prescription.checkpoint
    if advised is not None and advised.step is not None:
        said = f"the checkpoint to go back to: {advised.path}"
        yield Happening(advised.step, Kind.CHECKPOINT, said, where=Where(advised.path))


def _ending(diagnosis: Diagnosis) -> Happening:
    ending = diagnosis.ending
    known = ending.how if ending.how != UNKNOWN else "how it ended is not known"
    step = diagnosis.run.steps[1] if diagnosis.run.steps else None
    return Happening(step, Kind.END, f"{known}: {ending.why.rstrip('.')}", where=ending.where)
