"""Held-out data measured again, while training did not go back: the value measured in training counts.

step  1000  2000  3000  2000          the best checkpoint, once more at the end
val   0.31  0.28  0.30  0.28
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stethoscope.logs._splicing.laps import cut_at_falls
from stethoscope.logs._splicing.story import Story, bounds_of, is_of_training, may_tell_the_same
from stethoscope.logs._splicing.two_tellings import repeats, with_added
from stethoscope.run import Series

MEASURED_AGAIN = 2  # points of a held-out signal at earlier steps, where training did not go back


def measured_for(stories: list[Story], told: Mapping[str, Series]) -> Story | None:
    """The run that a log of measurements on held-out data alone was made for: an evaluation at its end."""
    if not any(name.startswith("val/") for name in told) or any(map(is_of_training, told)):
        return None
    bounds = bounds_of(told)
    return next(
        (
            story
            for story in reversed(stories)
            if any(map(is_of_training, story.series)) and may_tell_the_same(story.bounds, bounds)
        ),
        None,
    )


def add_measured(story: Story, told: Mapping[str, Series], notes: list[str]) -> None:
    """Add what the story does not tell; what it measured itself at a step counts."""
    for name, series in told.items():
        own = story.series.get(name)
        if own is None:
            story.series[name] = series
        elif own.axis == series.axis:
            story.series[name] = _with_new_steps(own, series, notes)


def without_measured_again(series: Series, notes: list[str]) -> Series:
    """A held-out signal without the values measured again at its end, as of the best checkpoint."""
    if is_of_training(series.name) or len(laps := cut_at_falls(series)) != 2:
        return series
    first, again = laps
    if len(again) > MEASURED_AGAIN or len(first) <= len(again):
        return series
    return _with_new_steps(first, again, notes)


def _with_new_steps(own: Series, again: Series, notes: list[str]) -> Series:
    """The series with what was measured again at other steps; another value at one of its own is noted."""
    known = np.isin(again.steps, own.steps)
    twice = again.select(known)
    if again.name.startswith("val/") and len(twice) and not repeats(twice, own):
        at = ", ".join(f"{step:,}" for step in twice.steps[:MEASURED_AGAIN].tolist())
        notes.append(
            f"{again.file} measures {again.name} again at step {at}: the value measured in training counts"
        )
    return with_added(own, again, ~known)
