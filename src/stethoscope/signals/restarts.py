"""The steps at which the run was started again."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from stethoscope.run import EventKind, Run


@dataclass(frozen=True, slots=True)
class Restarts:
    """The first step of every stretch after the first, in order; empty for a run in one piece.

    `from_scratch` is false where the log begins in the middle of a training.
    """

    steps: tuple[int, ...]
    from_scratch: bool

    def near(self, step: int, within: int) -> bool:
        """Whether the run was restarted within so many steps of this one."""
        after = bisect_left(self.steps, step - within)
        return after < len(self.steps) and self.steps[after] <= step + within


def measure(run: Run) -> Restarts:
    """Read the restarts from the segments and from what the logs announce."""
    begun = {segment.first for segment in run.segments[1:]}
    begun |= {event.step for event in run.events if event.kind is EventKind.RESUMED and event.step}
    first = run.steps[0] if run.steps else 0
    resumed = any(step <= first for step in begun)
    return Restarts(tuple(sorted(begun)), not resumed and _begins_with_the_training(run, first))


def _begins_with_the_training(run: Run, first: int) -> bool:
    """Whether a log's first step lies within a few logging intervals of the start."""
    if first <= 0:
        return True
    repeated = [series for series in run.series.values() if len(series) > 1]
    return any(first <= 2 * series.cadence() for series in repeated) if repeated else first <= 2
