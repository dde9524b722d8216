"""A history that goes on over restarts, and the logs that know where it was resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from stethoscope.logs._splicing.story import Bounds, Story, bounds_of, is_of_training
from stethoscope.logs.retelling import told_by
from stethoscope.run import Log, Series


def cut_where_resumed(series: Series, resumed: Sequence[tuple[Log, Log]]) -> list[Series]:
    """The series cut where a log ends and another goes on, with what the earlier log tells beyond."""
    if series.axis != "step":
        return [series]
    parts = []
    for earlier, later in resumed:
        cut = _training_bounds(later)[0]
        own = told_by(earlier).get(series.name)
        again = own.select(own.steps >= cut) if own is not None and own.axis == "step" else None
        before, series = series.select(series.steps < cut), series.select(series.steps >= cut)
        if again is not None and len(again):
            steps = np.concatenate([before.steps, again.steps])
            before = replace(before, steps=steps, values=np.concatenate([before.values, again.values]))
        parts.append(before)
    return [part for part in (*parts, series) if len(part)]


def resumed_in(story: Story) -> list[tuple[Log, Log]]:
    """Pairs of logs of one kind, the second of which goes on where the first ends, in order.

    A history kept with the checkpoints tells of the whole run, while each start of the program wrote a
    log of its own; only these know what was trained twice.
    """
    kinds: dict[str, list[Log]] = {}
    for log in story.logs if not story.recounted else ():
        if any(len(series) and _counts_training(series) for series in log.series):
            kinds.setdefault(log.format, []).append(log)
    chains = [list(pairwise(sorted(found, key=_training_bounds))) for found in kinds.values()]
    whole = [pairs for pairs in chains if pairs and all(_goes_on(*pair) for pair in pairs)]
    return max(whole, key=len, default=[])


def _goes_on(earlier: Log, later: Log) -> bool:
    before, after = _training_bounds(earlier), _training_bounds(later)
    overlap = before[1] - after[0]
    return before[0] < after[0] and before[1] < after[1] and 2 * overlap < min(np.ptp(before), np.ptp(after))


def _training_bounds(log: Log) -> Bounds:
    return bounds_of({s.name: s for s in log.series if len(s) and _counts_training(s)})


def _counts_training(series: Series) -> bool:
    return series.axis == "step" and is_of_training(series.name)
