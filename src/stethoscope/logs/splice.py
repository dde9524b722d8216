"""Joins the logs of one run: restarts, resumed files, and files that tell the same story twice.

After a restart from an earlier step, the steps trained again replace the abandoned ones; what was abandoned
is kept apart. A counter that begins again every epoch is no restart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.clock import stamp_in_name
from stethoscope.logs.retelling import Counting, counting_between, lie_near
from stethoscope.run import Log, Segment, Series

_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)")

Mask = npt.NDArray[np.bool_]

ALIKE = 1.2  # quotients of first steps, last steps and spans, where one log counts a multiple of the other
TWICE = 1.8  # with something left over at the ends
FEWEST_LAPS = 3  # equal rounds of a counter before it is called periodic


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
    notes: list[str] = []
    for story in _stories(sorted(of_first_rank(logs), key=_when), notes):
        for name, series in story.series.items():
            told.setdefault(name, []).extend(_laps(series))
    pieces = {name: _one_axis(found) for name, found in told.items()}
    segments = _segments(pieces)
    stretches = _orphaned(segments)
    current: dict[str, Series] = {}
    abandoned: list[Series] = []
    for name, found in pieces.items():
        kept, left = _joined(found)
        current[name], orphaned = _without_orphans(kept, stretches)
        abandoned.extend(piece for piece in (*left, *orphaned) if len(piece))
    return Spliced(current, tuple(abandoned), segments, tuple(notes))


def of_first_rank(logs: Sequence[Log]) -> Sequence[Log]:
    """The logs of rank 0, where every rank wrote one; otherwise all."""
    ranks = [_RANK.search(log.file) for log in logs]
    if not any(rank and int(rank[1]) == 0 for rank in ranks):
        return logs
    return [log for log, rank in zip(logs, ranks, strict=True) if rank is None or int(rank[1]) == 0]


def tell_the_same(one: Log, other: Log) -> bool:
    """Whether two logs are two tellings of one story, whose common values count once."""
    mine, theirs = _told(one), _told(other)
    if counting_between(mine, theirs) or counting_between(theirs, mine):
        return True
    return _may_be_of_one_time(_Story(mine, [one], (0, 0)), other) and lie_near(mine, theirs)


def _when(log: Log) -> tuple[float, int, str]:
    """When a log began: by its own stamps, else by its name, else by when it was last written."""
    first = min((int(series.steps[0]) for series in log.series if len(series)), default=0)
    return log.started or stamp_in_name(log.file) or log.last_written or 0.0, first, log.file


# --- files that tell the same story -----------------------------------------------------------------


Bounds = tuple[int, int]


def _bounds(told: Mapping[str, Series]) -> Bounds:
    """The first and last step of any of these series."""
    ends = [(int(series.steps.min()), int(series.steps.max())) for series in told.values()]
    return min((first for first, _ in ends), default=0), max((last for _, last in ends), default=0)


def _may_tell_the_same(one: Bounds, other: Bounds) -> bool:
    """Whether two ranges of steps overlap, or one is a multiple of the other: samples and steps."""
    if one[0] <= other[1] and other[0] <= one[1]:
        return True
    if min(*one, *other) <= 0:
        return False
    spans = (one[1] - one[0] + 1) / (other[1] - other[0] + 1)
    low, _, high = sorted((one[0] / other[0], one[1] / other[1], spans))
    return high <= ALIKE * low and (low >= TWICE or high <= 1 / TWICE)


@dataclass(slots=True)
class _Story:
    """What one log tells, or several that tell the same."""

    series: dict[str, Series]
    logs: list[Log]
    bounds: Bounds


def _stories(logs: Sequence[Log], notes: list[str]) -> list[_Story]:
    """What each log tells, joined where two tell the same: checkpoints' histories, two formats of one log."""
    stories: list[_Story] = []
    for log in logs:
        told = _told(log)
        same, counting = _retold(stories, told, log)
        if same is None:
            stories.append(_Story(told, [log], _bounds(told)))
            continue
        if not counting.same:
            told = _recounted(same, told, log, counting, notes)
        for name, series in told.items():
            same.series[name] = _richer(same.series[name], series) if name in same.series else series
        same.bounds = _bounds(same.series)
        same.logs.append(log)
    return stories


def _told(log: Log) -> dict[str, Series]:
    return {series.name: series for series in log.series if len(series)}


def _retold(stories: list[_Story], told: dict[str, Series], log: Log) -> tuple[_Story | None, _Recounting]:
    """The story that a log tells again, if any, and how the two count."""
    bounds = _bounds(told)
    near = [story for story in reversed(stories) if _may_tell_the_same(story.bounds, bounds)]
    for story in near:
        counting = counting_between(story.series, told)
        if counting is not None:
            return story, _Recounting(counting, faster_is_new=False)
        counting = counting_between(told, story.series)
        if counting is not None:
            return story, _Recounting(counting, faster_is_new=True)
    for story in near:
        if _may_be_of_one_time(story, log) and lie_near(story.series, told):
            return story, _Recounting(Counting(), faster_is_new=False)
    return None, _Recounting(Counting(), faster_is_new=False)


@dataclass(frozen=True, slots=True)
class _Recounting:
    """How the faster of two counters runs, and whose it is: the story's or the new log's."""

    counting: Counting
    faster_is_new: bool

    @property
    def same(self) -> bool:
        return self.counting.same


def _may_be_of_one_time(story: _Story, log: Log) -> bool:
    """Whether another program may have told the story while it happened; one format is a second run."""
    return all(other.format != log.format and not _apart_in_time(other, log) for other in story.logs)


def _apart_in_time(one: Log, other: Log) -> bool:
    times = (one.started, one.last_written, other.started, other.last_written)
    if any(moment is None for moment in times):
        return False
    return one.last_written < other.started or other.last_written < one.started  # type: ignore[operator]


def _recounted(
    story: _Story, told: dict[str, Series], log: Log, how: _Recounting, notes: list[str]
) -> dict[str, Series]:
    """Both tellings with the slower counter's steps: those of the optimiser, where one counts micro-steps."""
    faster, slower = (log, story.logs[0]) if how.faster_is_new else (story.logs[0], log)
    counting = how.counting
    if counting.times > 1:
        notes.append(
            f"{faster.file} counts {counting.times:,} to a step of {slower.file} (micro-steps or samples): "
            "its steps were divided"
        )
    mine, theirs = (told, story.series) if how.faster_is_new else (story.series, told)
    counted = {
        name: replace(series, steps=counting.of_the_other(series.steps)) if series.axis == "step" else series
        for name, series in mine.items()
    }
    if how.faster_is_new:
        return counted
    story.series = counted
    return theirs


def _richer(a: Series, b: Series) -> Series:
    """The longer of two tellings, with what only the other tells before and after it."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    if long.axis != short.axis:
        return long
    before, after = short.steps < long.steps.min(), short.steps > long.steps.max()
    if not (before.any() or after.any()):
        return long
    return replace(
        long,
        steps=np.concatenate([short.steps[before], long.steps, short.steps[after]]),
        values=np.concatenate([short.values[before], long.values, short.values[after]]),
    )


# --- pieces without a restart -----------------------------------------------------------------------


def _laps(series: Series) -> list[Series]:
    """The series cut where its steps fall back; counters that begin again every epoch count rows instead."""
    falls = np.flatnonzero(np.diff(series.steps) < 0) + 1
    if len(falls) == 0:
        return [_last_of_each_step(series)]
    laps = [series.select(slice(a, b)) for a, b in zip([0, *falls], [*falls, None], strict=True)]
    if _periodic(laps):
        return [replace(series, steps=np.arange(len(series), dtype=np.int64), axis="row")]
    return [_last_of_each_step(lap) for lap in laps]


def _periodic(laps: list[Series]) -> bool:
    """Whether all laps but the last cover the same steps, as rounds of a counter do and restarts do not."""
    whole = laps[:-1]
    if len(whole) < FEWEST_LAPS:
        return False
    first, last = int(whole[0].steps[0]), int(whole[0].steps[-1])
    slack = max(whole[0].cadence(), 1)
    return (
        all(
            abs(int(lap.steps[0]) - first) <= slack and abs(int(lap.steps[-1]) - last) <= slack
            for lap in whole
        )
        and abs(int(laps[-1].steps[0]) - first) <= slack
    )


def _last_of_each_step(series: Series) -> Series:
    repeated = np.append(np.diff(series.steps) == 0, False)
    return series.select(~repeated) if repeated.any() else series


def _one_axis(pieces: list[Series]) -> list[Series]:
    """The pieces that count in the most common unit; a step and an epoch cannot stand in one series."""
    counts: dict[str, int] = {}
    for piece in pieces:
        counts[piece.axis] = counts.get(piece.axis, 0) + len(piece)
    usual = max(counts, key=lambda axis: (axis == "step", counts[axis]))
    return [piece for piece in pieces if piece.axis == usual]


# --- joining ----------------------------------------------------------------------------------------


def _joined(pieces: list[Series]) -> tuple[Series, list[Series]]:
    """One strictly increasing series, and what later pieces trained again."""
    kept: list[Series] = []
    left: list[Series] = []
    resumes_at: int | None = None
    for piece in reversed(pieces):
        if resumes_at is not None:
            again: Mask = piece.steps >= resumes_at
            if again.any():
                left.append(piece.select(again))
            piece = piece.select(~again)
        if len(piece):
            kept.append(piece)
            resumes_at = int(piece.steps[0])
    kept.reverse()
    left.reverse()
    if len(kept) == 1:
        return kept[0], left
    steps = np.concatenate([piece.steps for piece in kept])
    values = np.concatenate([piece.values for piece in kept])
    return replace(kept[-1], steps=steps, values=values), left


def _segments(pieces: Mapping[str, list[Series]]) -> tuple[Segment, ...]:
    """The stretches of the run, told by the signal logged most often."""
    counted = [found for found in pieces.values() if found and found[0].axis == "step"] or list(
        pieces.values()
    )
    if not counted:
        return ()
    densest = max(counted, key=lambda found: sum(len(piece) for piece in found))
    return tuple(Segment(int(p.steps[0]), int(p.steps[-1]), p.file) for p in densest)


Stretch = tuple[int, int]


def _orphaned(segments: tuple[Segment, ...]) -> list[Stretch]:
    """The steps after one, up to another, of abandoned stretches that no later stretch has reached."""
    # For each first step, the furthest that any stretch came which begins there or later.
    reached: dict[int, int] = {}
    furthest = min((segment.last for segment in segments), default=0)
    for segment in sorted(segments, key=lambda segment: -segment.first):
        furthest = max(furthest, segment.last)
        reached[segment.first] = furthest
    pairs = [(before, after) for before, after in pairwise(segments) if after.first <= before.last]
    left = [(reached[after.first], before.last) for before, after in pairs]
    return [(reach, last) for reach, last in left if reach < last]


def _without_orphans(series: Series, stretches: list[Stretch]) -> tuple[Series, list[Series]]:
    """The series without points of an abandoned stretch that the stretch trained again never reached."""
    if not stretches or series.axis != "step":
        return series, []
    ends = np.searchsorted(series.steps, np.array(stretches), side="right")
    depth = np.zeros(len(series) + 1, dtype=np.int64)
    np.add.at(depth, ends[:, 0], 1)
    np.subtract.at(depth, ends[:, 1], 1)
    orphaned: Mask = np.cumsum(depth[:-1]) > 0
    if not orphaned.any() or orphaned.all():
        return series, []
    return series.select(~orphaned), [series.select(orphaned)]
