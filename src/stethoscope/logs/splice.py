"""Joins the logs of one run: restarts, resumed files, and files that tell the same story twice.

After a restart from an earlier step, the steps trained again replace the abandoned ones; what was abandoned
is kept apart. A counter that begins again every epoch is no restart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stethoscope.logs._reading.clock import stamp_in_name
from stethoscope.logs._splicing.branches import joined, on_one_axis, orphaned_in, segments_of, without_orphans
from stethoscope.logs._splicing.laps import falls, laps_of
from stethoscope.logs._splicing.measured_again import without_measured_again
from stethoscope.logs._splicing.resumed import cut_where_resumed, resumed_in
from stethoscope.logs._splicing.several_trainings import keep_the_last, trainings_in
from stethoscope.logs._splicing.stories import stories_of
from stethoscope.logs._splicing.story import is_of_training
from stethoscope.run import Log, Segment, Series

_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)")


@dataclass(frozen=True, slots=True)
class Spliced:
    """The current branch of every signal, what was abandoned, and the stretches between restarts."""

    series: Mapping[str, Series]
    abandoned: tuple[Series, ...] = ()
    segments: tuple[Segment, ...] = ()
    notes: tuple[str, ...] = ()


def splice(logs: Sequence[Log]) -> Spliced:
    """Join the logs of one run in the order of time."""
    told: dict[str, list[Series]] = {}
    abandoned: list[Series] = []
    notes: list[str] = []
    for story in stories_of(sorted(of_first_rank(logs), key=_when), notes):
        if (trainings := trainings_in(story)) > 1:
            notes.append(
                f"{story.logs[0].file} tells of {trainings:,} trainings one after another, each from the "
                "beginning to the end: the last one counts"
            )
            abandoned.extend(keep_the_last(story))
        went_back = any(falls(one).any() for name, one in story.series.items() if is_of_training(name))
        resumed = [] if went_back else resumed_in(story)
        for name, series in story.series.items():
            once = series if went_back else without_measured_again(series, notes)
            for part in cut_where_resumed(once, resumed):
                told.setdefault(name, []).extend(laps_of(part))
    pieces = {name: on_one_axis(found) for name, found in told.items()}
    segments = segments_of(pieces)
    stretches = orphaned_in(segments)
    current: dict[str, Series] = {}
    for name, found in pieces.items():
        kept, left = joined(found)
        current[name], orphaned = without_orphans(kept, stretches)
        abandoned.extend(piece for piece in (*left, *orphaned) if len(piece))
    return Spliced(current, tuple(abandoned), segments, tuple(notes))


def of_first_rank(logs: Sequence[Log]) -> Sequence[Log]:
    """The logs of rank 0, where every rank wrote one; otherwise all."""
    ranks = [_RANK.search(log.file) for log in logs]
    if not any(rank and int(rank[1]) == 0 for rank in ranks):
        return logs
    return [log for log, rank in zip(logs, ranks, strict=True) if rank is None or int(rank[1]) == 0]


def _when(log: Log) -> tuple[float, int, str]:
    """When a log began: by its own stamps, else by its name, else by when it was last written."""
    first = min((int(series.steps[0]) for series in log.series if len(series)), default=0)
    return log.started or stamp_in_name(log.file) or log.last_written or 0.0, first, log.file
