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
    background = _ar1_background(rest, frequency)
    if len(power) == 0 or not background.any():
        return None
    scaled = power / np.maximum(background * float(np.median(power / background)) / math.log(2.0), 1e-300)
    at = int(np.argmax(scaled))
    bar = -math.log(-math.expm1(math.log1p(-ALPHA) / len(scaled))) * SAFETY
    if scaled[at] <= bar:
        return None
    amplitude, share = _folded(rest, float(frequency[at]))
    spacing = float(x[-1] - x[0]) / max(1, len(x) - 1)
    return Swing(
        spacing / float(frequency[at]),
        float(frequency[at] * len(y)),
        amplitude,
        share,
        float(scaled[at]),
        bar,
    )


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


def _ar1_background(rest: Values, frequency: Values) -> Values:
    rho = autocorrelation(rest)
    shape = 1.0 / (1.0 - 2.0 * rho * np.cos(2.0 * np.pi * frequency) + rho * rho)
    return np.asarray(shape if np.abs(rest).max() > 0.0 else np.zeros_like(shape), dtype=np.float64)


def _folded(rest: Values, frequency: float) -> tuple[float, float]:
    """Half the height of the repeated shape, whatever it is, and the share of the variance it explains."""
    phase = (np.arange(len(rest)) * frequency) % 1.0
    bins = np.minimum((phase * PHASES).astype(np.int64), PHASES - 1)
    shape = np.array([np.median(rest[bins == one]) if np.any(bins == one) else 0.0 for one in range(PHASES)])
    scale = float(np.abs(rest).max()) or 1.0
    left, total = (rest - shape[bins]) / scale, rest / scale
    return float(np.ptp(shape)) / 2.0, 1.0 - float(left @ left) / max(float(total @ total), 1e-300)
