"""Logs in which several processes print the same lines with values of their own, and none says its number.

step: 10 loss: 1.2879       one process
step: 20 loss: 1.1572
step: 10 loss: 1.2638       another, a little behind
step: 30 loss: 0.9632
step: 20 loss: 1.1023

Every step stands there as often as there are processes, and the counter falls again and again long before
its end: a run that was restarted, or trained once more, does not look like this.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stethoscope.run import Log, Series
from stethoscope.run.series import Steps

FEWEST_FALLS = 3
SOME = 0.1  # of the steps at which the counter falls, at least
MOSTLY = 0.9
HALF = 0.5


def of_one_rank(log: Log) -> Log:
    """The log with the values of one process, where several print without saying which they are."""
    followed = {id(series): mask for series in log.series if (mask := _first_of_several(series)) is not None}
    if not followed:
        return log
    kept = tuple(
        series.select(followed[id(series)]) if id(series) in followed else series for series in log.series
    )
    note = (
        "several processes print the same lines into this log, mixed: one value of each step was kept, "
        "of one process until it meets another"
    )
    return replace(log, series=kept, notes=(*log.notes, note))


def _first_of_several(series: Series) -> npt.NDArray[np.bool_] | None:
    """Which points are those of the process that began; None where one process printed all."""
    steps = series.steps
    falls = np.flatnonzero(np.diff(steps) < 0)
    if len(falls) < FEWEST_FALLS:
        return None
    present, counts = np.unique(steps, return_counts=True)
    times = int(np.median(counts))
    early = steps[falls] < present[-1]  # a training that is repeated falls from its end
    if times < 2 or len(falls) < SOME * len(present) or early.mean() < HALF:
        return None
    if (counts == times).mean() < MOSTLY:
        return None
    chains = _chains(steps, times)
    if chains is None or min(np.bincount(chains, minlength=times)) < MOSTLY * len(present):
        return None
    first: npt.NDArray[np.bool_] = chains == 0
    return first


def _chains(steps: Steps, most: int) -> npt.NDArray[np.int64] | None:
    """The chain of growing steps to which each belongs: the one furthest on; None where so many do not do."""
    lasts: list[int] = []
    chosen = np.empty(len(steps), dtype=np.int64)
    for at, step in enumerate(steps.tolist()):
        before = [(last, chain) for chain, last in enumerate(lasts) if last < step]
        if before:
            chain = max(before)[1]
            lasts[chain] = step
        elif len(lasts) < most:
            chain = len(lasts)
            lasts.append(step)
        else:
            return None
        chosen[at] = chain
    return chosen
