"""A loss that leaves its best level for good, by the detector of the post-mortem on the bounded trace.

The post-mortem reports every severe rise. Live, only what cannot wait is told: a rise that is fast, clear of
the noise and still there, or far above the start. A slow rise is as often a curriculum or a game, and is left
to the post-mortem.
"""

from __future__ import annotations

import math
from statistics import median

import numpy as np

from stethoscope.detectors.divergence import EXPLODED, GAIN_LOST, LEAST_POINTS, VISIBLE, Rise, rise
from stethoscope.detectors.robust_stats import median_deviation, noise_sd, tame
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.judges.around import Around
from stethoscope.guard.judges.trace import FIRST, Trace, series
from stethoscope.guard.observation import Observation

FEWEST_BLOCKS = 8  # below this the noise between blocks is not known, and only an explosion is told
NOISES = 8.0  # deviations between blocks that a rise must stand out by
HALF = 0.5  # of the rise came lately; or of all that was learned is lost, so that going back loses less
GROWS = 1.5  # times the height of the block before: on its way up
RECENT = 1024  # steps since the onset; what is older cannot be undone by going back
LOOK_EVERY = 128  # steps between two questions to the detector, which takes a millisecond


def may_diverge(trace: Trace) -> bool:
    """A cheap look first: whether the last blocks stand visibly above what was before."""
    if trace.best is None or trace.first is None:
        return False
    if len(trace.medians) < FEWEST_BLOCKS:
        return _has_exploded(trace)
    learned = max(trace.first - trace.best, 0.0)
    return min(trace.medians[-2:]) - trace.best > max(VISIBLE * abs(trace.best), GAIN_LOST * learned)


def look(trace: Trace, clock: int, seen: Observation, around: Around) -> Happening | None:
    """Ask the detector, and tell what cannot wait."""
    clocks, values = series(trace)
    if len(values) < LEAST_POINTS:
        return None
    found = rise(clocks, values)
    if found is None or not found.severe:
        return None
    fresh, far = _is_fresh(found, trace), _is_far(trace)
    if not (fresh or far):
        return None
    if not far and (trace.is_game or (around.restarted(found.onset) and not found.above_start)):
        return None
    lost = found.above_start or found.gain_lost >= HALF
    undo = fresh and lost and clock - found.onset <= RECENT and not trace.is_game
    return _told(found, clock, seen, undo)


def _has_exploded(trace: Trace) -> bool:
    """Whether the last block stands many times above the first values."""
    first = median(value for _, value in trace.start[:FIRST])
    last = median(value for _, value in trace.levels[0][-FIRST:])
    return last > EXPLODED * first > 0.0


def _is_far(trace: Trace) -> bool:
    """Whether the loss stands many times above its first level, and not by noise around zero."""
    if len(trace.medians) < FEWEST_BLOCKS:
        return _has_exploded(trace)
    first, last = trace.first or 0.0, min(trace.medians[-2:])
    return last > EXPLODED * first > 0.0 and last - first > NOISES * _noise(trace)


def _is_fresh(found: Rise, trace: Trace) -> bool:
    """Whether half of the rise or more came within the last blocks, clear of noise, and stays or grows."""
    if len(trace.medians) < FEWEST_BLOCKS:
        return _has_exploded(trace)
    before = median(trace.medians[: len(trace.medians) // 2])
    first, second, third = (one - before for one in trace.medians[-3:])
    noise = _noise(trace)
    if third <= max(NOISES * noise, HALF * (found.end - found.best)):
        return False
    stays = min(first, second) >= HALF * third
    return stays or (third > GROWS * second > GROWS * GROWS * first > HALF * NOISES * noise)


def _noise(trace: Trace) -> float:
    """The noise between blocks, from the older half of those that are kept."""
    older = tame(np.array(trace.medians[: len(trace.medians) // 2], dtype=np.float64))
    return max(noise_sd(older), median_deviation(older))


def _told(found: Rise, clock: int, seen: Observation, undo: bool) -> Happening:
    onset = seen.step - (clock - found.onset)
    lost = f"{min(found.gain_lost, 1.0):.0%} of what had been learned is lost"
    if found.above_start:
        lost = f"worse than at the start ({found.initial:.4g})"
    return Happening(
        Kind.DIVERGENCE,
        seen.step,
        Severity.WARNING,
        f"The loss has risen from {found.best:.4g} to {found.end:.4g} since about step {onset:,}: {lost}.",
        "The run diverges: steps make the model worse. Where the task is made harder on purpose, or a term "
        "of the loss was switched on there, a rise is expected.",
        "go back to a checkpoint from before that step and halve the learning rate; look for what changed.",
        {
            "best": found.best,
            "end": found.end,
            "initial": found.initial,
            "gain_lost": found.gain_lost,
            "ratio": found.ratio if math.isfinite(found.ratio) else None,
            "steps_to_rise": found.steps_to_rise,
            "exponential": found.exponential,
        },
        Answer.REWIND if undo else Answer.NONE,
        onset=onset,
    )
