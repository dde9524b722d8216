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
from stethoscope.logs.retelling import (
    NOT_TELLING,
    SAME_VALUE,
    Counting,
    agree,
    counting_between,
    digits,
    lie_near,
    surely_the_same,
)
from stethoscope.run import Log, Segment, Series

_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)")

Mask = npt.NDArray[np.bool_]

ALIKE = 1.2  # quotients of first steps, last steps and spans, where one log counts a multiple of the other
TWICE = 1.8  # with something left over at the ends
FEWEST_LAPS = 3  # equal rounds of a counter before it is called periodic
FEWEST_TO_FALL = 4  # points of a training whose loss is seen to fall
NEARLY_ALL = 0.9  # of the steps of a rounded telling, for the exact one to stand in its place
MEASURED_AGAIN = 2  # points of a held-out signal at earlier steps, where training did not go back
# What only a program that trains can tell.
OF_TRAINING = ("loss", "train/", "grad_norm", "lr", "loss_scale")


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
    for story in _stories(sorted(of_first_rank(logs), key=_when), notes):
        if (trainings := _trainings(story)) > 1:
            notes.append(
                f"{story.logs[0].file} tells of {trainings:,} trainings one after another, each from the "
                "beginning to the end: the last one counts"
            )
            abandoned.extend(_keep_the_last(story))
        went_back = any(_falls(one).any() for name, one in story.series.items() if _of_training(name))
        resumed = [] if went_back else _resumed(story)
        for name, series in story.series.items():
            once = series if went_back else _without_measured_again(series, notes)
            for part in _cut_where_resumed(once, resumed):
                told.setdefault(name, []).extend(_laps(part))
    pieces = {name: _one_axis(found) for name, found in told.items()}
    segments = _segments(pieces)
    stretches = _orphaned(segments)
    current: dict[str, Series] = {}
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
    if counting_between(mine, theirs) or counting_between(theirs, mine) or _same_rows(mine, theirs):
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
    recounted: bool = False


def _stories(logs: Sequence[Log], notes: list[str]) -> list[_Story]:
    """What each log tells, joined where two tell the same: checkpoints' histories, two formats of one log."""
    stories: list[_Story] = []
    for log in logs:
        told = _told(log)
        same, counting = _retold(stories, told, log)
        if same is None and (same := _measured_again(stories, told)) is not None:
            _add_measured(same, told, notes)
            same.logs.append(log)
            continue
        if same is None:
            stories.append(_Story(told, [log], _bounds(told)))
            continue
        if not counting.same:
            same.recounted = True
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
    for story in reversed(stories):
        if _same_rows(story.series, told) or _is_a_piece(told, story.series):
            return story, _Recounting(Counting(), faster_is_new=False)
    for story in near:
        if _may_be_of_one_time(story, log) and lie_near(story.series, told):
            return story, _Recounting(Counting(), faster_is_new=False)
    return None, _Recounting(Counting(), faster_is_new=False)


def _same_rows(one: Mapping[str, Series], other: Mapping[str, Series]) -> bool:
    """Whether one log counts rows where the other knows the steps, and the values are the same."""
    mine, theirs = one.get("loss"), other.get("loss")
    if mine is None or theirs is None or "row" not in (mine.axis, theirs.axis):
        return False
    return surely_the_same(mine, theirs)


def _is_a_piece(told: Mapping[str, Series], whole: Mapping[str, Series]) -> bool:
    """Whether a log of a few points repeats what a story tells at the same steps: the last frame of a bar."""
    telling = [name for name in told if not name.startswith(NOT_TELLING)]
    return bool(telling) and all(
        name in whole and len(told[name]) <= MEASURED_AGAIN and _repeats(told[name], whole[name])
        for name in telling
    )


def _repeats(few: Series, many: Series) -> bool:
    if few.axis != many.axis:
        return False
    for step, value in few:
        told = many.values[many.steps == step]
        if not len(told) or not abs(told[-1] - value) <= SAME_VALUE * max(abs(value), abs(told[-1])):
            return False
    return True


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
    mine, theirs = _times(one), _times(other)
    return bool(mine and theirs and (mine[1] < theirs[0] or theirs[1] < mine[0]))


def _times(log: Log) -> tuple[float, float] | None:
    """When a log began and was last written; None where either is not known."""
    if log.started is None or log.last_written is None:
        return None
    return log.started, log.last_written


def _recounted(
    story: _Story, told: dict[str, Series], log: Log, how: _Recounting, notes: list[str]
) -> dict[str, Series]:
    """Both tellings with the slower counter's steps: those of the optimiser, where one counts micro-steps.

    Where they only begin at different numbers, the more exact one is believed: a bar counts what is done.
    """
    counting, new_is_counted = how.counting, how.faster_is_new
    if counting.times == 1:
        counted, kept = (told, story.series) if new_is_counted else (story.series, told)
        if _exactness(counted, kept) > _exactness(kept, counted):
            counting, new_is_counted = Counting(1, -counting.shift), not new_is_counted
    else:
        faster, slower = (log, story.logs[0]) if new_is_counted else (story.logs[0], log)
        notes.append(
            f"{faster.file} counts {counting.times:,} to a step of {slower.file} (micro-steps or samples): "
            "its steps were divided"
        )
    recounted = {
        name: replace(series, steps=counting.of_the_other(series.steps)) if series.axis == "step" else series
        for name, series in (told if new_is_counted else story.series).items()
    }
    if new_is_counted:
        return recounted
    story.series = recounted
    return told


def _exactness(one: Mapping[str, Series], other: Mapping[str, Series]) -> int:
    """The most digits that one telling gives of what both measure."""
    shared = [name for name in one.keys() & other.keys() if not name.startswith(NOT_TELLING)]
    return max((digits(one[name].values) for name in shared), default=0)


def _richer(a: Series, b: Series) -> Series:
    """The longer of two tellings, or the more exact of two as long, with what only the other tells."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    if long.axis != short.axis:
        return max(a, b, key=lambda one: (one.axis == "step", len(one)))
    own, other = _last_of_each_step(long), _last_of_each_step(short)
    if len(other) >= NEARLY_ALL * len(own) and digits(other.values) > digits(own.values):
        own, other = other, own
    if _falls(own).any() or _falls(other).any() or not agree(own, other):
        # Of restarts and of averages, only what lies outside the other fits to it.
        return _with(own, other, (other.steps < own.steps.min()) | (other.steps > own.steps.max()))
    return _with(own, other, ~np.isin(other.steps, own.steps))


def _with(own: Series, other: Series, added: Mask) -> Series:
    if not added.any():
        return own
    parts = [other.select(added), own]
    if _falls(own).any() or _falls(other).any():  # restarts stay in the order they were written in
        before = other.steps < own.steps.min()
        parts = [other.select(added & before), own, other.select(added & ~before)]
    steps = np.concatenate([part.steps for part in parts])
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(steps, kind="stable") if len(parts) == 2 else np.arange(len(steps))
    return replace(own, steps=steps[order], values=values[order])


# --- several trainings in one file --------------------------------------------------------------------


def _trainings(story: _Story) -> int:
    """How many trainings a log tells of: each covers the same steps, and its loss begins high again.

    A restart ends the training before it early; a counter of an epoch's steps begins again while the
    loss goes on where it was.
    """
    loss = story.series.get("loss")
    if loss is None or not _falls(loss).any():
        return 1
    laps = _cut(loss)
    if min(map(len, laps[:-1])) < FEWEST_TO_FALL or not _cover_the_same(laps):
        return 1
    firsts, lasts = zip(*map(_first_and_last, laps), strict=True)
    fallen = firsts[0] - lasts[0]
    if not fallen > SAME_VALUE * abs(firsts[0]):
        return 1
    risen = [first - last for first, last in zip(firsts[1:], lasts[:-1], strict=True)]
    return len(laps) if all(rise > fallen / 2 for rise in risen) else 1


def _first_and_last(lap: Series) -> tuple[float, float]:
    """The usual value at both ends, of a few points where there are many."""
    few = 1 + len(lap) // 20
    return float(np.median(lap.values[:few])), float(np.median(lap.values[-few:]))


def _keep_the_last(story: _Story) -> list[Series]:
    """Leave the last training in the story; what was told of those before is returned."""
    before: list[Series] = []
    reached = int(_cut(story.series["loss"])[-1].steps.max())
    for name, series in story.series.items():
        *earlier, last = _cut(series)
        # What lies beyond was told of a training before, which had come further.
        beyond = (last.steps > reached) & (last.axis == "step")
        story.series[name] = last.select(~beyond)
        before.extend(_last_of_each_step(lap) for lap in (*earlier, last.select(beyond)) if len(lap))
    story.series = {name: series for name, series in story.series.items() if len(series)}
    return before


# --- a history that goes on over restarts -----------------------------------------------------------


def _cut_where_resumed(series: Series, resumed: Sequence[tuple[Log, Log]]) -> list[Series]:
    """The series cut where a log ends and another goes on, with what the earlier log tells beyond."""
    if series.axis != "step":
        return [series]
    parts = []
    for earlier, later in resumed:
        cut = _training_bounds(later)[0]
        own = _told(earlier).get(series.name)
        again = own.select(own.steps >= cut) if own is not None and own.axis == "step" else None
        before, series = series.select(series.steps < cut), series.select(series.steps >= cut)
        if again is not None and len(again):
            steps = np.concatenate([before.steps, again.steps])
            before = replace(before, steps=steps, values=np.concatenate([before.values, again.values]))
        parts.append(before)
    return [part for part in (*parts, series) if len(part)]


def _resumed(story: _Story) -> list[tuple[Log, Log]]:
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
    return _bounds({s.name: s for s in log.series if len(s) and _counts_training(s)})


def _counts_training(series: Series) -> bool:
    return series.axis == "step" and _of_training(series.name)


# --- measured again, while training did not go back ---------------------------------------------------


def _of_training(name: str) -> bool:
    return name.startswith(OF_TRAINING)


def _measured_again(stories: list[_Story], told: Mapping[str, Series]) -> _Story | None:
    """The run that a log of measurements on held-out data alone was made for: an evaluation at its end."""
    if not any(name.startswith("val/") for name in told) or any(map(_of_training, told)):
        return None
    bounds = _bounds(told)
    return next(
        (
            story
            for story in reversed(stories)
            if any(map(_of_training, story.series)) and _may_tell_the_same(story.bounds, bounds)
        ),
        None,
    )


def _add_measured(story: _Story, told: Mapping[str, Series], notes: list[str]) -> None:
    """Add what the story does not tell; what it measured itself at a step counts."""
    for name, series in told.items():
        own = story.series.get(name)
        if own is None:
            story.series[name] = series
        elif own.axis == series.axis:
            known = np.isin(series.steps, own.steps)
            if name.startswith("val/") and known.any() and not _repeats(series.select(known), own):
                notes.append(_said_again(name, series.select(known)))
            story.series[name] = _with(own, series, ~known)


def _without_measured_again(series: Series, notes: list[str]) -> Series:
    """A held-out signal without the values measured again at its end, as of the best checkpoint."""
    falls = np.flatnonzero(_falls(series)) + 1
    if len(falls) != 1 or _of_training(series.name) or len(series) - falls[0] > MEASURED_AGAIN:
        return series
    first, again = series.select(slice(0, falls[0])), series.select(slice(falls[0], None))
    if len(first) <= len(again):
        return series
    known = np.isin(again.steps, first.steps)
    if known.any() and series.name.startswith("val/") and not _repeats(again.select(known), first):
        notes.append(_said_again(series.name, again.select(known)))
    return _with(first, again, ~known)


def _said_again(name: str, again: Series) -> str:
    at = ", ".join(f"{step:,}" for step in again.steps[:MEASURED_AGAIN].tolist())
    return f"{again.file} measures {name} again at step {at}: the value measured in training counts"


# --- pieces without a restart -----------------------------------------------------------------------


def _laps(series: Series) -> list[Series]:
    """The series cut where its steps fall back; counters that begin again every epoch count rows instead."""
    falls = np.flatnonzero(_falls(series)) + 1
    if len(falls) == 0:
        return [_last_of_each_step(series)]
    laps = _cut(series)
    if _periodic(laps):
        return [replace(series, steps=np.arange(len(series), dtype=np.int64), axis="row")]
    return [_last_of_each_step(lap) for lap in laps]


def _falls(series: Series) -> Mask:
    """Behind which points the steps fall back."""
    return np.diff(series.steps) < 0


def _cut(series: Series) -> list[Series]:
    falls = np.flatnonzero(_falls(series)) + 1
    return [series.select(slice(a, b)) for a, b in zip([0, *falls], [*falls, None], strict=True)]


def _periodic(laps: list[Series]) -> bool:
    """Whether the counter begins again and again, as rounds of an epoch do and restarts do not."""
    return len(laps) > FEWEST_LAPS and _cover_the_same(laps)


def _cover_the_same(laps: list[Series]) -> bool:
    """Whether all laps but the last cover the same steps, and the last one begins where they do."""
    whole = laps[:-1]
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
    told_most = max(reversed(kept), key=len)
    return replace(told_most, steps=steps, values=values), left


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
