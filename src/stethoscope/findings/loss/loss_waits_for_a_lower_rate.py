"""The loss hardly falls while the learning rate is high, and falls as the rate is taken away.

## What it checks
A run from random weights whose rate comes down to a fifth of its peak or less: which part of the fall of the
loss, in its logarithm, lies behind the step at which the rate has halved. It fires where that is nearly half
or more, and the loss at that step is still a third of its start or more.

## Why it matters
Learning is fastest at the start, when everything is still to be learned, and what the end of a schedule adds
is the last bit. A loss that comes down with the rate is held up by the size of the steps: by a rate that is
too high for the batch, or by gradients that are larger than they should be. All that is learned is learned
with what is left of the rate.

## When it is harmless
A stable stretch with a decay at its end lowers the loss once more, after it has come far down. A task that
becomes harder, a game or a reward follow something else. Some tasks stay on a plateau and are then learned
at once, whatever the rate does: a single fall is not counted. A network that finds its way late, and then
learns faster under a high rate than it does behind, was not held up by the rate. Losses of few batches that
leap leave it open where the level was, and nothing is said of them; nor of a loss that was well below before,
under a higher rate still: there the data changed.

## References
- Smith et al., "Don't decay the learning rate, increase the batch size", 2018
- McCandlish et al., "An Empirical Model of Large-Batch Training", 2018
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import SHORTEST, STRETCH, levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.samples_per_step import SamplesPerStep
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS241", since="0.5", severity=Severity.WARNING)

LEAST_POINTS = 16
SPENT = 0.2  # of the peak: the schedule has come down
HALVED = 0.5  # of the peak
BACK = 0.75  # of the peak: the schedule goes in circles
LATE = 0.42  # of the fall, in the logarithm
FALLS = 0.7  # of the first value: a loss that ends above has hardly fallen at all
STILL_HIGH = 0.33  # of the first value, where the rate has halved
REACHED = 0.7  # of the level where the rate has halved, at some time before
NOISES = 2.5  # deviations of a level, by which it may be too high
FEW = 5  # samples of a batch
BEFORE = 0.2  # of the run, up to where the rate has halved
FEWEST_BEFORE = 3  # values in that stretch
FASTER = 1.25  # times as fast: under a cosine, a loss that follows the rate falls faster behind than before
AT_ONCE = 0.8  # of that fall, between two quarters of the stretch: no fall with the rate


def examine(
    loss: TrainLoss,
    rates: LearningRate,
    start: StartingPoint,
    curriculum: Curriculum | None,
    seen: SamplesPerStep | None,
) -> Iterator[Finding]:
    """Fire where the loss comes down behind the rate."""
    series, rate = loss.series.finite(), rates.main.finite()
    if len(series) < LEAST_POINTS or series.axis != rate.axis or len(rate) < LEAST_POINTS // 2:
        raise InsufficientData("too few losses stand beside a learning rate")
    if not loss.measures_progress or curriculum is not None or not start.from_scratch:
        return
    under = np.interp(series.steps, rate.steps, rate.values)
    half = _halved(under)
    level = levels(series.values)
    first, last = float(level[0]), float(np.median(series.values[-max(1, len(series) // 10) :]))
    if half is None or float(level.min()) <= 0.0 or last >= FALLS * first:
        return
    then = float(level[half])
    late = math.log(then / last) / math.log(first / last)
    if late < LATE or then < STILL_HIGH * first or _falls_at_once(level, half):
        return
    # What was reached under a high rate, and lost since, was not held up by the rate.
    if float(level[: half + 1].min()) < REACHED * then or _is_within_noise(series.values, then, first, last):
        return
    if _fell_faster_before(np.asarray(series.steps, dtype=float), np.log(level), half):
        return
    yield Finding(
        (series.where(), rate.where()),
        f"{series.name} is {first:.4g} at first, {then:.4g} at step {int(series.steps[half]):,}, where "
        f"{rate.name} has come down to half of its peak, and {last:.4g} at the end: it falls with the rate",
        {
            "first": first,
            "then": then,
            "last": last,
            "late": late,
            "few_samples": seen is not None and seen.count <= FEW,
        },
        strength=min(1.0, 0.4 + late),
        onset=int(series.steps[0]),
    )


def _is_within_noise(values: Values, then: float, first: float, last: float) -> bool:
    """Whether so little of the fall would be late if the level at half of the rate were a little lower."""
    doubt = NOISES * noise_sd(values) / math.sqrt(max(SHORTEST, STRETCH * len(values)))
    least = then - doubt
    return least <= last or math.log(least / last) < LATE * math.log(first / last)


def _halved(under: Values) -> int | None:
    """The first value under half of the highest rate, on its way to where it is spent."""
    top, peak = int(np.argmax(under)), float(under.max())
    if peak <= 0.0 or float(under[-1]) > SPENT * peak:
        return None
    low = np.flatnonzero(under[top:] <= HALVED * peak)
    if not 0 < len(low) < len(under):
        return None
    half = top + int(low[0])
    # A rate that comes back to its height, and a loss that falls on, have nothing to do with each other.
    return half if float(under[half:].max()) < BACK * peak else None


def _fell_faster_before(steps: Values, height: Values, half: int) -> bool:
    """Whether the loss fell faster just before the rate had halved than behind it: no rate held it up."""
    before = int(np.searchsorted(steps, steps[half] - BEFORE * (steps[-1] - steps[0])))
    if half - before < FEWEST_BEFORE:
        return False
    earlier = (height[before] - height[half]) / (steps[half] - steps[before])
    later = (height[half] - height[-1]) / (steps[-1] - steps[half])
    return bool(earlier > FASTER * later)


def _falls_at_once(level: Values, half: int) -> bool:
    """Whether most of what falls behind the halved rate falls between two quarters of that stretch."""
    quarters = np.array(
        [float(np.median(part)) for part in np.array_split(np.log(level[half:]), 4) if len(part)]
    )
    falls = quarters[:-1] - quarters[1:]
    return len(quarters) < 4 or float(falls.max()) > AT_ONCE * float(falls.sum())
