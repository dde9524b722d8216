"""Does a series repeat a shape in every period of a known length, as data in a fixed order make it?

Each period is cut into phases. Were there no shape, the phases of one period could be turned round against
those of another and nothing would change: the chance is counted over such turns. Noise with a memory keeps
it, so unlike an analysis of variance this does not take slow noise for a shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import tame
from stethoscope.run import Steps, Values

PHASES = 8
LEAST_PERIODS = 4
MOST_PERIODS = 64  # the last of them
TURNS = 1000
SEED = 20240229  # the same curve gets the same verdict every time


@dataclass(frozen=True, slots=True)
class Fold:
    """Half the height of the repeated shape, and the share of the variance between phases that it explains.

    `p` is the chance of as much without a shape; `drift` is how far the level usually moves within a period.
    """

    periods: int
    amplitude: float
    share: float
    p: float
    drift: float


def fold(steps: Steps, values: Values, period: float) -> Fold | None:
    """The shape that finite values repeat with a period in steps; None for too few periods or points."""
    if len(values) < PHASES * LEAST_PERIODS or period <= 0.0:
        return None
    phases = _phase_means(steps, tame(values), period)
    if phases is None:
        return None
    rest = phases - _trend(phases)
    rest = rest - rest.mean(axis=1, keepdims=True)
    total = float((rest * rest).sum())
    if total <= 0.0:
        return None
    shape = rest.mean(axis=0)
    seen = float(shape @ shape)
    chance = (1 + int(np.count_nonzero(_by_turns(rest) >= seen))) / (1 + TURNS)
    drift = float(np.median(np.abs(np.diff(phases.mean(axis=1)))))
    return Fold(len(rest), float(np.ptp(shape)) / 2.0, len(rest) * seen / total, chance, drift)


def _phase_means(steps: Steps, values: Values, period: float) -> Values | None:
    """One row for each whole period, with the means of its phases; None where phases are empty."""
    position = (steps - steps[0]) / period * PHASES
    at = np.floor(position).astype(np.int64)
    rows = int(at[-1] + 1) // PHASES
    first = max(0, rows - MOST_PERIODS)
    keep = (at >= first * PHASES) & (at < rows * PHASES)
    cells = (rows - first) * PHASES
    if rows - first < LEAST_PERIODS:
        return None
    counts = np.bincount(at[keep] - first * PHASES, minlength=cells)
    if not counts.all():
        return None
    sums = np.bincount(at[keep] - first * PHASES, weights=values[keep], minlength=cells)
    return np.asarray((sums / counts).reshape(-1, PHASES), dtype=np.float64)


def _trend(phases: Values) -> Values:
    """The line from the mean of each period to the next: a loss that falls has a slope in every period."""
    means = phases.mean(axis=1)
    centres = (np.arange(len(means)) + 0.5) * PHASES - 0.5
    slopes = np.gradient(means) / PHASES
    at = np.arange(phases.size).reshape(phases.shape)
    return np.asarray(means[:, np.newaxis] + slopes[:, np.newaxis] * (at - centres[:, np.newaxis]))


def _by_turns(rest: Values) -> Values:
    """The size of the mean shape, with every period turned by a phase of its own, many times."""
    turns = np.random.default_rng(SEED).integers(PHASES, size=(TURNS, len(rest)))
    turned = np.stack([np.roll(rest, -turn, axis=1) for turn in range(PHASES)])
    shapes = turned[turns, np.arange(len(rest))].mean(axis=1)
    return np.asarray((shapes * shapes).sum(axis=1), dtype=np.float64)
