"""The steps at which something about the training was changed from outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series, Steps
from stethoscope.signals import restarts
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.curriculum import measure as measure_curriculum
from stethoscope.signals.loss import words

RATE_CHANGE = 1.3  # a factor by which a learning rate or a weight moves at once
HARDER = 0.05  # a rise of the difficulty by this share of its range at once
STAGES = frozenset({"stage", "phase", "task", "domain", "resolution", "seqlen", "curriculum"})
FEW_STAGES = 0.1  # of the logged values; more changes are no stages
LATE = 0.02  # a term that appears after this share of the run was switched on


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """One change: its step, its kind ("restart", "lr up", "lr down", "term", "weight", "difficulty",
    "stage") and the series it shows in.
    """

    step: int
    kind: str
    series: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.series}".strip()


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """All changes of one kind that one series shows, in the order of their steps."""

    steps: Steps
    kind: str
    series: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TurningPoints:
    """All changes, and the curriculum, if there is one."""

    changes: tuple[Changes, ...]
    curriculum: Curriculum | None

    @property
    def points(self) -> tuple[TurningPoint, ...]:
        """Every change, in the order of the steps."""
        found = [
            TurningPoint(step, change.kind, change.series)
            for change in self.changes
            for step in change.steps.tolist()
        ]
        return tuple(sorted(found, key=lambda point: point.step))

    def near(self, step: int, within: int) -> tuple[TurningPoint, ...]:
        """The first change of each kind in each series within so many steps of this one, earliest first."""
        found = []
        for change in self.changes:
            at = int(np.searchsorted(change.steps, step - within))
            if at < len(change.steps) and change.steps[at] <= step + within:
                found.append(TurningPoint(int(change.steps[at]), change.kind, change.series))
        return tuple(sorted(found, key=lambda point: point.step))


def measure(run: Run) -> TurningPoints:
    """Collect the changes."""
    curriculum = measure_curriculum(run)
    changes = tuple(change for change in _changes(run) if len(change.steps))
    return TurningPoints(changes, curriculum if isinstance(curriculum, Curriculum) else None)


def _changes(run: Run) -> Iterator[Changes]:
    yield Changes(np.array(restarts.measure(run).steps, dtype=np.int64), "restart")
    first, last = run.steps or (0, 0)
    for name, series in run.series.items():
        if name == "lr" or name.startswith("lr/"):
            yield from _leaps(series.finite(), "lr up", "lr down")
        elif name.startswith("weight/"):
            yield from _leaps(series.finite(), "weight", "weight")
        elif name == "difficulty":
            yield from _harder(series.finite())
        elif words(name) & STAGES and not name.startswith(("val/", "loss")):
            yield from _stages(series.finite())
        elif name.startswith("loss/"):
            yield from _switched_on(series, first + LATE * (last - first))


def _leaps(series: Series, up: str, down: str) -> Iterator[Changes]:
    before, after = series.values[:-1], series.values[1:]
    rose = (after > RATE_CHANGE * before) & (before > 0.0)
    fell = (before > RATE_CHANGE * after) & (after > 0.0)
    yield Changes(series.steps[1:][rose], up, series.name)
    yield Changes(series.steps[1:][fell & ~rose], down, series.name)


def _stages(series: Series) -> Iterator[Changes]:
    """The changes of a number that counts stages: whole, and the same for long."""
    changes = np.diff(series.values) != 0.0
    whole = bool(np.all(series.values == np.rint(series.values)))
    if whole and np.count_nonzero(changes) <= max(1.0, FEW_STAGES * len(series)):
        yield Changes(series.steps[1:][changes], "stage", series.name)


def _harder(series: Series) -> Iterator[Changes]:
    if len(series) < 2 or np.ptp(series.values) <= 0.0:
        return
    rises = np.diff(series.values) > HARDER * np.ptp(series.values)
    yield Changes(series.steps[1:][rises], "difficulty", series.name)


def _switched_on(series: Series, late: float) -> Iterator[Changes]:
    """The first value of a term that was not there from the start."""
    there = np.isfinite(series.values)
    if there.any() and series.steps[at := int(np.argmax(there))] > late:
        yield Changes(series.steps[at : at + 1], "term", series.name)
