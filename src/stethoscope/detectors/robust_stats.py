"""Medians, noise and autocorrelation of a series: what the detectors measure curves against.

Every function takes finite values. Levels are medians because one outlier must not move them; noise is
read from differences between neighbours because a trend must not count as noise.
"""

from __future__ import annotations

import numpy as np

from stethoscope.run import Steps, Values

MAD_TO_SD = 1.4826  # a normal sample's standard deviation is this many median absolute deviations
MOST_BLOCKS = 4096  # a curve of more points says nothing more about its level
HUGE = 1e100  # clipping here keeps squares and sums of diverged losses finite


def tame(values: Values) -> Values:
    """Clip to a range in which squares do not overflow."""
    return np.clip(values, -HUGE, HUGE)


def median_deviation(values: Values) -> float:
    """The median absolute deviation from the median, scaled to a standard deviation."""
    if len(values) == 0:
        return 0.0
    return float(MAD_TO_SD * np.median(np.abs(values - np.median(values))))


def noise_sd(values: Values) -> float:
    """The standard deviation of independent noise around a smooth curve, from second differences."""
    if len(values) < 4:
        return 0.0
    second = values[2:] - 2.0 * values[1:-1] + values[:-2]
    # The variance of x - 2y + z is six times that of one point.
    return float(MAD_TO_SD * np.median(np.abs(second)) / 6.0**0.5)


def autocorrelation(residuals: Values) -> float:
    """The lag-1 autocorrelation, corrected for the small-sample bias and kept inside 0 to 0.99."""
    n = len(residuals)
    centred = residuals - residuals.mean() if n else residuals
    power = float(centred @ centred)
    if n < 4 or power <= 0.0:
        return 0.0
    raw = float(centred[1:] @ centred[:-1]) / power
    return float(np.clip(raw + (1.0 + 4.0 * raw) / n, 0.0, 0.99))


def memory_around_a_line(residuals: Values) -> float:
    """The lag-1 autocorrelation of what a fitted line leaves over, rather too much than too little.

    A line takes away more of a slow noise than a mean does, so that the estimate is too low by about
    (2 + 4 rho) / n. Where there is memory, one standard error is added: in a short series an estimate that
    is too low by as much makes a trend out of noise, one that is too high only costs power.
    """
    n = len(residuals)
    power = float(residuals @ residuals)
    if n < 6 or power <= 0.0:
        return autocorrelation(residuals)
    raw = float(residuals[1:] @ residuals[:-1]) / power
    rho = min(max((raw + 2.0 / n) / (1.0 - 4.0 / n), 0.0), 1.0)
    return min(rho + rho * float(np.sqrt((1.0 - rho * rho) / n)), 0.99)


def variance_inflation(rho: float) -> float:
    """How many autocorrelated points carry the information of one independent point."""
    return (1.0 + rho) / (1.0 - rho)


def block_means(steps: Steps, values: Values, most: int = MOST_BLOCKS) -> tuple[Values, Values]:
    """Average neighbours until at most `most` points remain; steps and values as floats."""
    size = -(-len(values) // most)
    if size <= 1:
        return steps.astype(np.float64), values
    starts = np.arange(0, len(values), size)
    counts = np.diff(np.append(starts, len(values)))
    return np.add.reduceat(steps.astype(np.float64), starts) / counts, np.add.reduceat(
        values, starts
    ) / counts


def block_medians(steps: Steps, values: Values, most: int) -> tuple[Values, Values]:
    """Replace neighbours by their median until about `most` points remain; a short block comes first."""
    size = -(-len(values) // most)
    if size <= 1:
        return steps.astype(np.float64), values
    spare = len(values) % size
    folded = np.median(values[spare:].reshape(-1, size), axis=1)
    centres = steps[spare:].astype(np.float64).reshape(-1, size).mean(axis=1)
    if spare == 0:
        return centres, folded
    head = np.median(values[:spare])
    return np.append(steps[:spare].mean(), centres), np.append(head, folded)


def smoothed(values: Values, width: int) -> Values:
    """The trailing mean over `width` points; shorter at the front."""
    width = max(1, min(width, len(values)))
    if width == 1:
        return values
    total = np.cumsum(values)
    means = np.empty(len(values))
    means[:width] = total[:width] / np.arange(1, width + 1)
    means[width:] = (total[width:] - total[:-width]) / width
    return means


def largest_rise(values: Values) -> float:
    """The largest climb from any value to a later one."""
    return float(np.max(values - np.minimum.accumulate(values))) if len(values) else 0.0


def isotonic(values: Values) -> Values:
    """The closest non-decreasing series."""
    level, weight, _ = _pooled(values)
    return np.repeat(np.array(level, dtype=np.float64), weight)


def isotonic_errors(values: Values) -> Values:
    """The squared distance to the closest non-decreasing series of the first 0, 1, 2 ... values."""
    return np.array(_pooled(values)[2], dtype=np.float64)


def _pooled(values: Values) -> tuple[list[float], list[int], list[float]]:
    """Pool adjacent violators: the levels, how many values each stands for, and the error so far."""
    level: list[float] = []
    weight: list[int] = []
    error = 0.0
    errors = [error]
    for value in values.tolist():
        level.append(value)
        weight.append(1)
        while len(level) > 1 and level[-2] > level[-1]:
            total = weight[-2] + weight[-1]
            gap = level[-2] - level[-1]
            error += weight[-2] * weight[-1] / total * gap * gap
            level[-2] = (level[-2] * weight[-2] + level[-1] * weight[-1]) / total
            weight[-2] = total
            level.pop()
            weight.pop()
        errors.append(error)
    return level, weight, errors
