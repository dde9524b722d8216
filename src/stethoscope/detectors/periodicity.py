"""Does a series swing with a period, beyond what noise with a memory does by itself?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import autocorrelation, block_means, tame
from stethoscope.run import Steps, Values

LEAST_POINTS = 80
LEAST_PERIODS = 4
MOST_POINTS = 4096
ALPHA = 1e-3
PHASES = 8  # parts of a period, in each of which the series is averaged over all periods
OVERTONES = 8  # a sharp shape can be strongest in an overtone of its true period
NEARLY = 0.8
SAFETY = 1.6  # the AR(1) background is itself estimated; without this margin the test rejects too often


@dataclass(frozen=True, slots=True)
class Swing:
    """A period in steps, half the swing's height in units of the series, and the strength of the evidence.

    `share` is the part of the detrended variance that the repeated shape explains; `ratio` is the peak
    over the noise background, `bar` what it had to exceed.
    """

    period: float
    periods: float
    amplitude: float
    share: float
    ratio: float
    bar: float


def swing(steps: Steps, values: Values) -> Swing | None:
    """The dominant period of finite values, if it stands out; None otherwise or for too few points."""
    if len(values) < LEAST_POINTS:
        return None
    x, y = block_means(steps, tame(values), MOST_POINTS)
    rest = _detrended(y)
    power, frequency = _periodogram(rest)
    # The trend's remains look like a period as long as the series; fewer than four periods prove nothing.
    keep = frequency * len(y) >= LEAST_PERIODS
    power, frequency = power[keep], frequency[keep]
    if len(power) == 0 or not power.any():
        return None
    scaled = _over_background(power, frequency, autocorrelation(rest))
    strongest = float(frequency[np.argmax(scaled)])
    # The swing itself looks like memory; without it the noise may turn out to have little.
    left = rest - _wave(rest, strongest)
    scaled = np.maximum(scaled, _over_background(power, frequency, autocorrelation(left)))
    at = int(np.argmax(scaled))
    bar = -math.log(-math.expm1(math.log1p(-ALPHA) / len(scaled))) * SAFETY
    if scaled[at] <= bar:
        return None
    period, amplitude, share = _best_fold(rest, float(frequency[at]))
    spacing = float(x[-1] - x[0]) / max(1, len(x) - 1)
    return Swing(spacing * period, len(y) / period, amplitude, share, float(scaled[at]), bar)


def _detrended(y: Values) -> Values:
    """What quadratics in time and in its logarithm leave over: curves fall fast, then slowly."""
    t = np.linspace(-1.0, 1.0, len(y))
    late = np.log(np.arange(1.0, len(y) + 1.0))
    late = late / late[-1]
    design = np.stack([np.ones_like(t), t, t * t, late, late * late], axis=1)
    scale = float(np.abs(y).max()) or 1.0
    fitted, *_ = np.linalg.lstsq(design, y / scale, rcond=None)
    return np.asarray(y - scale * (design @ fitted), dtype=np.float64)


def _periodogram(rest: Values) -> tuple[Values, Values]:
    window = np.hanning(len(rest))
    scale = float(np.abs(rest).max()) or 1.0
    spectrum = np.abs(np.fft.rfft(rest / scale * window)) ** 2
    return np.asarray(spectrum[1:], np.float64), np.asarray(np.fft.rfftfreq(len(rest))[1:], np.float64)


def _over_background(power: Values, frequency: Values, rho: float) -> Values:
    """The spectrum in units of what AR(1) noise of the same size would show."""
    shape = 1.0 / (1.0 - 2.0 * rho * np.cos(2.0 * np.pi * frequency) + rho * rho)
    size = float(np.median(power / shape)) / math.log(2.0)
    return np.asarray(power / np.maximum(shape * size, 1e-300), dtype=np.float64)


def _wave(rest: Values, frequency: float) -> Values:
    """The sine of this frequency, and its first overtone, that fit best."""
    angle = 2.0 * np.pi * frequency * np.arange(len(rest))
    design = np.stack([np.sin(angle), np.cos(angle), np.sin(2.0 * angle), np.cos(2.0 * angle)], axis=1)
    fitted, *_ = np.linalg.lstsq(design, rest, rcond=None)
    return np.asarray(design @ fitted, dtype=np.float64)


def _best_fold(rest: Values, frequency: float) -> tuple[float, float, float]:
    """The period near the spectral line, or near a whole number of its own, that repeats the shape best."""
    folds = []
    for multiple in range(1, OVERTONES + 1):
        # A line is as wide as one part in the length of the series.
        near = frequency / multiple + np.linspace(-0.5, 0.5, 9) / len(rest)
        periods = [1.0 / f for f in near.tolist() if f * len(rest) >= LEAST_PERIODS]
        if periods and periods[-1] >= PHASES / 2.0:
            folds.append(
                max(((period, *_folded(rest, period)) for period in periods), key=lambda fold: fold[2])
            )
    if not folds:
        return 1.0 / frequency, *_folded(rest, 1.0 / frequency)
    best = max(share for _, _, share in folds)
    # The shortest period that explains nearly as much is the period; its multiples explain it, too.
    return next(fold for fold in folds if fold[2] >= NEARLY * best or best <= 0.0)


def _folded(rest: Values, period: float) -> tuple[float, float]:
    """Half the height of the repeated shape, whatever it is, and the share of the variance it explains."""
    phase = (np.arange(len(rest)) / period) % 1.0
    bins = np.minimum((phase * PHASES).astype(np.int64), PHASES - 1)
    counts = np.maximum(np.bincount(bins, minlength=PHASES), 1)
    shape = np.bincount(bins, weights=rest, minlength=PHASES) / counts
    scale = float(np.abs(rest).max()) or 1.0
    left, total = (rest - shape[bins]) / scale, rest / scale
    return float(np.ptp(shape)) / 2.0, 1.0 - float(left @ left) / max(float(total @ total), 1e-300)
