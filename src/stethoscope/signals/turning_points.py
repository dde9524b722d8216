"""The steps at which something about the training was changed from outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series
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
class TurningPoints:
    """All changes in the order of their steps, and the curriculum, if there is one."""

    points: tuple[TurningPoint, ...]
    curriculum: Curriculum | None

    def near(self, step: int, within: int) -> tuple[TurningPoint, ...]:
        """The changes within so many steps of this one."""
        return tuple(point for point in self.points if abs(point.step - step) <= within)


def measure(run: Run) -> TurningPoints:
    """Collect the changes."""
    curriculum = measure_curriculum(run)
    points = sorted(_changes(run), key=lambda point: point.step)
    return TurningPoints(tuple(points), curriculum if isinstance(curriculum, Curriculum) else None)


def _changes(run: Run) -> Iterator[TurningPoint]:
    for step in restarts.measure(run).steps:
        yield TurningPoint(step, "restart")
    first, last = run.steps or (0, 0)
    for name, series in run.series.items():
        finite = series.finite()
        if name == "lr" or name.startswith("lr/"):
            yield from _leaps(finite, "lr up", "lr down")
        elif name.startswith("weight/"):
            yield from _leaps(finite, "weight", "weight")
        elif name == "difficulty":
            yield from _harder(finite)
        elif words(name) & STAGES and not name.startswith(("val/", "loss")):
            yield from _stages(finite)
        elif name.startswith("loss/") and len(finite) and finite.steps[0] > first + LATE * (last - first):
            yield TurningPoint(int(finite.steps[0]), "term", name)


def _leaps(series: Series, up: str, down: str) -> Iterator[TurningPoint]:
    if len(series) < 2:
        return
    before, after = series.values[:-1], series.values[1:]
    rose = (after > RATE_CHANGE * before) & (before > 0.0)
    fell = (before > RATE_CHANGE * after) & (after > 0.0)
    for at in np.flatnonzero(rose | fell).tolist():
        yield TurningPoint(int(series.steps[at + 1]), up if rose[at] else down, series.name)


def _stages(series: Series) -> Iterator[TurningPoint]:
    """The changes of a number that counts stages: whole, and the same for long."""
    changes = np.flatnonzero(np.diff(series.values) != 0.0)
    whole = bool(np.all(series.values == np.rint(series.values)))
    if whole and len(changes) <= max(1.0, FEW_STAGES * len(series)):
        for at in changes.tolist():
            yield TurningPoint(int(series.steps[at + 1]), "stage", series.name)


def _harder(series: Series) -> Iterator[TurningPoint]:
    if len(series) < 2 or np.ptp(series.values) <= 0.0:
        return
    rises = np.diff(series.values) > HARDER * np.ptp(series.values)
    for at in np.flatnonzero(rises).tolist():
        yield TurningPoint(int(series.steps[at + 1]), "difficulty", series.name)
