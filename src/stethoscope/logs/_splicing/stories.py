"""Which logs tell the same story: checkpoints' histories, two formats of one log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stethoscope.logs._splicing.measured_again import MEASURED_AGAIN, add_measured, measured_for
from stethoscope.logs._splicing.story import Story, bounds_of, may_tell_the_same
from stethoscope.logs._splicing.two_tellings import repeats, richer
from stethoscope.logs.retelling import (
    NOT_TELLING,
    Counting,
    counting_between,
    digits,
    lie_near,
    may_be_of_one_time,
    same_rows,
    told_by,
)
from stethoscope.run import Log, Series


def stories_of(logs: Sequence[Log], notes: list[str]) -> list[Story]:
    """What each log tells, joined where two tell the same: checkpoints' histories, two formats of one log."""
    stories: list[Story] = []
    for log in logs:
        told = told_by(log)
        same, counting = _retold(stories, told, log)
        if same is None and (same := measured_for(stories, told)) is not None:
            add_measured(same, told, notes)
            same.logs.append(log)
            continue
        if same is None:
            stories.append(Story(told, [log], bounds_of(told)))
            continue
        if not counting.same:
            same.recounted = True
            told = _recounted(same, told, log, counting, notes)
        for name, series in told.items():
            same.series[name] = richer(same.series[name], series) if name in same.series else series
        same.bounds = bounds_of(same.series)
        same.logs.append(log)
    return stories


def _retold(stories: list[Story], told: dict[str, Series], log: Log) -> tuple[Story | None, _Recounting]:
    """The story that a log tells again, if any, and how the two count."""
    bounds = bounds_of(told)
    near = [story for story in reversed(stories) if may_tell_the_same(story.bounds, bounds)]
    for story in near:
        counting = counting_between(story.series, told)
        if counting is not None:
            return story, _Recounting(counting, faster_is_new=False)
        counting = counting_between(told, story.series)
        if counting is not None:
            return story, _Recounting(counting, faster_is_new=True)
    for story in reversed(stories):
        if same_rows(story.series, told) or _is_a_piece(told, story.series):
            return story, _Recounting(Counting(), faster_is_new=False)
    for story in near:
        if all(may_be_of_one_time(other, log) for other in story.logs) and lie_near(story.series, told):
            return story, _Recounting(Counting(), faster_is_new=False)
    return None, _Recounting(Counting(), faster_is_new=False)


def _is_a_piece(told: Mapping[str, Series], whole: Mapping[str, Series]) -> bool:
    """Whether a log of a few points repeats what a story tells at the same steps: the last frame of a bar."""
    telling = [name for name in told if not name.startswith(NOT_TELLING)]
    return bool(telling) and all(
        name in whole and len(told[name]) <= MEASURED_AGAIN and repeats(told[name], whole[name])
        for name in telling
    )


@dataclass(frozen=True, slots=True)
class _Recounting:
    """How the faster of two counters runs, and whose it is: the story's or the new log's."""

    counting: Counting
    faster_is_new: bool

    @property
    def same(self) -> bool:
        return self.counting.same


def _recounted(
    story: Story, told: dict[str, Series], log: Log, how: _Recounting, notes: list[str]
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
