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

from stethoscope.logs._clock import stamp_in_name
from stethoscope.run import Log, Segment, Series

_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)")

Mask = npt.NDArray[np.bool_]

SAME_VALUE = 0.02  # relative; one file may print fewer digits than the other
SAME_STORY = 0.9  # share of the common steps whose values must agree
OVERLAP = 0.5  # share of the shorter series' steps that both must hold
FEWEST_COMMON = 3  # points; two that agree may be chance
# Equal at a step of any run with the same settings, or never equal.
NOT_TELLING = ("epoch", "lr", "step_time", "data_time", "throughput", "runtime", "mem", "mfu")
FEWEST_LAPS = 3  # equal rounds of a counter before it is called periodic


@dataclass(frozen=True, slots=True)
class Spliced:
    """The current branch of every signal, what was abandoned, and the stretches between restarts."""

    series: Mapping[str, Series]
    abandoned: tuple[Series, ...] = ()
    segments: tuple[Segment, ...] = ()


def splice(logs: Sequence[Log]) -> Spliced:
    """Join the logs of one run in the order of time."""
    told: dict[str, list[Series]] = {}
    for story in _stories(sorted(of_first_rank(logs), key=_when)):
        for name, series in story.items():
            told.setdefault(name, []).extend(_laps(series))
    pieces = {name: _one_axis(found) for name, found in told.items()}
    segments = _segments(pieces)
    current: dict[str, Series] = {}
    abandoned: list[Series] = []
    for name, found in pieces.items():
        kept, left = _joined(found)
        current[name], orphaned = _without_orphans(kept, segments)
        abandoned.extend(piece for piece in (*left, *orphaned) if len(piece))
    return Spliced(current, tuple(abandoned), segments)


def of_first_rank(logs: Sequence[Log]) -> Sequence[Log]:
    """The logs of rank 0, where every rank wrote one; otherwise all."""
    ranks = [_RANK.search(log.file) for log in logs]
    if not any(rank and int(rank[1]) == 0 for rank in ranks):
        return logs
    return [log for log, rank in zip(logs, ranks, strict=True) if rank is None or int(rank[1]) == 0]


def tell_the_same(one: Log, other: Log) -> bool:
    """Whether two logs are two tellings of one story, whose common values count once."""
    return _same_story(_told(one), _told(other))


def _when(log: Log) -> tuple[float, int, str]:
    """When a log began: by its own stamps, else by its name, else by when it was last written."""
    first = min((int(series.steps[0]) for series in log.series if len(series)), default=0)
    return log.started or stamp_in_name(log.file) or log.last_written or 0.0, first, log.file


# --- files that tell the same story -----------------------------------------------------------------

Story = dict[str, Series]


def _stories(logs: Sequence[Log]) -> list[Story]:
    """What each log tells, joined where two tell the same: checkpoints' histories, two formats of one log."""
    stories: list[Story] = []
    for log in logs:
        told = _told(log)
        same = next((story for story in reversed(stories) if _same_story(story, told)), None)
        if same is None:
            stories.append(told)
            continue
        for name, series in told.items():
            same[name] = _richer(same[name], series) if name in same else series
    return stories


def _told(log: Log) -> Story:
    return {series.name: series for series in log.series if len(series)}


def _same_story(a: Story, b: Story) -> bool:
    """Whether the signals that both hold have the same values at the same steps."""
    shared = [name for name in a.keys() & b.keys() if min(len(a[name]), len(b[name])) >= FEWEST_COMMON]
    telling = [name for name in shared if not name.startswith(NOT_TELLING)] or shared
    agreeing = sum(_agree(a[name], b[name]) for name in telling)
    return agreeing > len(telling) / 2


def _agree(a: Series, b: Series) -> bool:
    if a.axis != b.axis:
        return False
    _, at_a, at_b = np.intersect1d(a.steps, b.steps, return_indices=True)
    if len(at_a) < OVERLAP * min(len(a), len(b)):
        return False
    x, y = a.values[at_a], b.values[at_b]
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(x - y) <= SAME_VALUE * np.maximum(np.abs(x), np.abs(y))
    equal = (x == y) | close | (np.isnan(x) & np.isnan(y))
    return bool(equal.mean() >= SAME_STORY)


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


def _without_orphans(series: Series, segments: tuple[Segment, ...]) -> tuple[Series, list[Series]]:
    """The series without points of an abandoned stretch that the stretch trained again never reached."""
    if len(segments) < 2 or series.axis != "step":
        return series, []
    orphaned = np.zeros(len(series), dtype=bool)
    for before, after in pairwise(segments):
        if after.first <= before.last:
            reached = max(
                segment.last for segment in segments if segment.first >= after.first or segment == after
            )
            orphaned |= (series.steps > reached) & (series.steps <= before.last)
    if not orphaned.any() or orphaned.all():
        return series, []
    return series.select(~orphaned), [series.select(orphaned)]
