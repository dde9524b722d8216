"""Whether a fault does any harm: a property of a task, an operator and a level, not of one run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from stethoscope.clinic.faultbench.label import Label

Cell = tuple[str, str, int]  # the task, the operator, the level

FEWEST, FEWEST_HEALTHY = 5, 20
ALPHA = 0.05
LARGE = 0.5  # standard deviations: less is a difference that nobody would see


def consequential(labels: Iterable[Label]) -> dict[Cell, bool]:
    """Every cell with enough runs, and whether these differ from healthy ones in score or in their log."""
    healthy: dict[str, list[Label]] = defaultdict(list)
    cells: dict[Cell, list[Label]] = defaultdict(list)
    for label in labels:
        if not label.faults:
            healthy[label.task].append(label)
        elif len(label.faults) == 1 and label.is_sick:
            fault = label.faults[0]
            cells[label.task, fault.operator, fault.level].append(label)
    return {
        cell: _differs(runs, healthy[cell[0]])
        for cell, runs in cells.items()
        if len(runs) >= FEWEST and len(healthy[cell[0]]) >= FEWEST_HEALTHY
    }


def is_consequential(label: Label, cells: dict[Cell, bool]) -> bool | None:
    """Whether anything that is wrong with a run does harm; None where that was not measured."""
    known = [cells.get((label.task, fault.operator, fault.level)) for fault in label.planted]
    if any(known):
        return True
    return None if None in known else False


def _differs(runs: Sequence[Label], healthy: Sequence[Label]) -> bool:
    for measured in ("score", "logged"):
        ours = [value for run in runs if (value := getattr(run, measured)) is not None]
        theirs = [value for run in healthy if (value := getattr(run, measured)) is not None]
        if len(ours) >= FEWEST and len(theirs) >= FEWEST_HEALTHY and _is_apart(ours, theirs):
            return True
    # A run that ends without a score has come to harm.
    return sum(run.ended != "finished" for run in runs) > len(runs) / 2


def _is_apart(ours: Sequence[float], theirs: Sequence[float]) -> bool:
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
