"""Whether a fault does any harm: a property of a task, an operator and a level, not of one run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.task import tasks

Cell = tuple[str, str, int]  # the task, the operator, the level

FEWEST, FEWEST_HEALTHY = 5, 20
ALPHA = 0.05
LARGE = 0.5  # standard deviations: less is a difference that nobody would see


def consequential(labels: Iterable[Label]) -> dict[Cell, bool]:
    """Every cell with enough runs, and whether these are worse than healthy ones, or log another score."""
    healthy: dict[str, list[Label]] = defaultdict(list)
    cells: dict[Cell, list[Label]] = defaultdict(list)
    for label in labels:
        if not label.faults:
            healthy[label.task].append(label)
        elif len(label.faults) == 1 and label.is_sick:
            fault = label.faults[0]
            cells[label.task, fault.operator, fault.level].append(label)
    return {
        cell: _does_harm(runs, healthy[cell[0]], _sign(cell[0]))
        for cell, runs in cells.items()
        if len(runs) >= FEWEST and len(healthy[cell[0]]) >= FEWEST_HEALTHY
    }


def is_consequential(label: Label, cells: dict[Cell, bool]) -> bool | None:
    """Whether anything that is wrong with a run does harm; None where that was not measured."""
    known = [cells.get((label.task, fault.operator, fault.level)) for fault in label.planted]
    if any(known):
        return True
    return None if None in known else False


def _sign(task: str) -> float:
    known = tasks().get(task)
    return -1.0 if known is not None and known.metric.goal == "min" else 1.0


def _does_harm(runs: Sequence[Label], healthy: Sequence[Label], sign: float) -> bool:
    """Whether runs end worse, or log another score than they have: weights that are better are no harm."""
    # A run that ends without a score has come to harm.
    if sum(run.ended != "finished" for run in runs) > len(runs) / 2:
        return True
    ours, theirs = _measured(runs, "score"), _measured(healthy, "score")
    if _is_apart(ours, theirs):
        return sign * (float(np.mean(ours)) - float(np.mean(theirs))) < 0.0
    return _is_apart(_measured(runs, "logged"), _measured(healthy, "logged"))


def _measured(runs: Sequence[Label], what: str) -> list[float]:
    return [value for run in runs if (value := getattr(run, what)) is not None]


def _is_apart(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    if len(ours) < FEWEST or len(theirs) < FEWEST_HEALTHY:
        return False
    spread = math.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 2)
    distance = abs(float(np.mean(ours)) - float(np.mean(theirs)))
    return distance > LARGE * spread and rank_sum_p(ours, theirs) < ALPHA


def rank_sum_p(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The two-sided probability of the rank sums if both came from one distribution (Mann and Whitney)."""
    n, m = len(ours), len(theirs)
    every = np.concatenate([ours, theirs])
    values, where, counts = np.unique(every, return_inverse=True, return_counts=True)
    if len(values) == 1:
        return 1.0
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[where]
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    ties = float((counts**3 - counts).sum()) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    z = max(0.0, abs(u - n * m / 2) - 0.5) / deviation
    return math.erfc(z / math.sqrt(2))
