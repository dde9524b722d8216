"""Several trainings in one file, one after another: the last one counts."""

from __future__ import annotations

import numpy as np

from stethoscope.logs._splicing.laps import cover_the_same, cut_at_falls, falls, last_of_each_step
from stethoscope.logs._splicing.story import Story
from stethoscope.logs.retelling import SAME_VALUE
from stethoscope.run import Series

FEWEST_TO_FALL = 4  # points of a training whose loss is seen to fall


def trainings_in(story: Story) -> int:
    """How many trainings a log tells of: each covers the same steps, and its loss begins high again.

    A restart ends the training before it early; a counter of an epoch's steps begins again while the
    loss goes on where it was.
    """
    loss = story.series.get("loss")
    if loss is None or not falls(loss).any():
        return 1
    laps = cut_at_falls(loss)
    if min(map(len, laps[:-1])) < FEWEST_TO_FALL or not cover_the_same(laps):
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


def keep_the_last(story: Story) -> list[Series]:
    """Leave the last training in the story; what was told of those before is returned."""
    before: list[Series] = []
    reached = int(cut_at_falls(story.series["loss"])[-1].steps.max())
    for name, series in story.series.items():
        *earlier, last = cut_at_falls(series)
        # What lies beyond was told of a training before, which had come further.
        beyond = (last.steps > reached) & (last.axis == "step")
        story.series[name] = last.select(~beyond)
        before.extend(last_of_each_step(lap) for lap in (*earlier, last.select(beyond)) if len(lap))
    story.series = {name: series for name, series in story.series.items() if len(series)}
    return before
