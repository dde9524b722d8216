"""Bands from healthy runs: what a run of the same recipe with another seed shows.

The width of a band has four parts, added as variances: how far two seeds lie apart, how much earlier or later
one of them comes to the same place, how well the curve is known through the noise of the runs it is taken
from, and, for a signal with few points, the noise of a single one. With one run the spread between seeds
cannot be seen, so it is taken from what was measured on healthy runs (`benchmarks/trajectory_coverage.py`);
with several, what they show outweighs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.detectors.distributions import t_quantile
from stethoscope.detectors.robust_stats import (
    MOST_BLOCKS,
    block_medians,
    memory_around_a_line,
    noise_sd,
    tame,
    variance_inflation,
)
from stethoscope.run import Series, Values
from stethoscope.run.names import HIGHER, LOWER, better
from stethoscope.trajectory.knots import curve_through, named_steps
from stethoscope.trajectory.trajectory import CONFIDENCE, TINY, Held, Row, Scale, Side

LEAST_POINTS = 5
SPREAD_LOG = 0.10  # between seeds, as a logarithm: for losses and errors
SPREAD_NORM = 0.35  # the same for the norms of gradients
SPREAD_LINEAR = 0.08  # between seeds, of the range that a metric moves through
LEAST_SPREAD = 0.012  # of the level: a metric that hardly moves is not known better
EARLIER_OR_LATER = 0.15  # of its step, by which one seed comes before another to the same place
EARLY = (3.0, 1.7, 1.3)  # times further apart at the first named steps, where weights have only been drawn
PRIOR_FREEDOM = 10.0  # of that spread where it stands alone
LEAST_PRIOR = 2.0  # what it counts for, at least, beside that of several runs at hand
FREEDOM_PER_RUN = 3.0  # deviations of one run from the others are alike from step to step
MOST_FREEDOM = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class _Together:
    """The curve through all runs, at the named steps, scaled."""

    knots: tuple[int, ...]
    heights: Values
    apart: Values  # runs by knots: how far each run lies from the curve
    error: Values  # of the curve at each knot


def band_of(name: str, runs: Sequence[Series], source: str, log_this: str = "") -> Held | str:
    """The band of a signal that these runs show, or why there is none."""
    runs = [_thinned(series.select(series.steps >= 0).finite()) for series in runs]
    if not runs or min(len(series) for series in runs) < LEAST_POINTS:
        return f"fewer than {LEAST_POINTS} values were logged"
    if len({series.axis for series in runs}) > 1:
        return "the runs count by different units"
    scale = scale_of(name, runs)
    together = _together(runs, scale)
    spread, freedom = _spread(name, together, scale)
    sd = np.sqrt((spread * _early(len(together.knots))) ** 2 + _in_time(together) ** 2 + together.error**2)
    reach = t_quantile(0.5 + CONFIDENCE / 2.0, freedom)
    rows = tuple(
        _row(step, height, reach * float(width), scale)
        for step, height, width in zip(together.knots, together.heights, sd, strict=True)
    )
    return Held(
        name,
        rows,
        worse_side(name),
        scale,
        CONFIDENCE,
        round(freedom, 1),
        False,
        runs[0].axis,
        source,
        log_this,
    )


def scale_of(name: str, runs: Sequence[Series]) -> Scale:
    """Factors for what is positive and better lower, or a norm; differences for the rest."""
    smallest = min(float(series.values.min()) for series in runs)
    if smallest > TINY and (better(name) == LOWER or name.split("/")[0] in {"grad_norm", "param_norm", "lr"}):
        return Scale.LOG
    return Scale.LINEAR


def worse_side(name: str) -> Side:
    """The side of the band on which a run is worse than expected."""
    direction = better(name)
    if direction is None and name.split("/")[0] == "grad_norm":
        return Side.HIGH
    return {LOWER: Side.HIGH, HIGHER: Side.LOW}.get(direction or "", Side.BOTH)


def _thinned(series: Series) -> Series:
    """The series with neighbours replaced by their median where it is very long."""
    if len(series) <= MOST_BLOCKS:
        return series
    steps, values = block_medians(series.steps, series.values, MOST_BLOCKS)
    return replace(series, steps=np.rint(steps).astype(np.int64), values=values)


def _together(runs: Sequence[Series], scale: Scale) -> _Together:
    last = min(int(series.steps[-1]) for series in runs)
    first = max(int(series.steps[0]) for series in runs)
    kept = [series.between(min(first, last), last) for series in runs]
    kept = [
        series if len(series) >= LEAST_POINTS else whole for series, whole in zip(kept, runs, strict=True)
    ]
    knots = named_steps(min(kept, key=len).steps)
    values = [_scaled(series.values, scale) for series in kept]
    steps = np.concatenate([series.steps for series in kept])
    heights, _ = curve_through(steps, np.concatenate(values), knots)
    each = [curve_through(series.steps, own, knots) for series, own in zip(kept, values, strict=True)]
    apart = np.array([own - heights for own, _ in each])
    error = [
        _curve_error(series, own, left, knots)
        for series, own, (_, left) in zip(kept, values, each, strict=True)
    ]
    return _Together(knots, heights, apart, np.sqrt(np.mean(np.square(error), axis=0) / len(kept)))


def _curve_error(series: Series, values: Values, left: Values, knots: tuple[int, ...]) -> Values:
    """How well the curve is known at each knot through the noise of one run."""
    counts = np.histogram(series.steps, bins=np.array([*knots, knots[-1] + 1], dtype=np.float64))[0]
    near = np.maximum((counts + np.roll(counts, 1)) / 2.0, 1.0)
    if len(series) <= len(knots) + 2:  # the curve goes through the points: neighbours tell the noise
        return np.full(len(knots), noise_sd(values))
    noise = float(left.std(ddof=min(len(knots), len(left) - 1)))
    return np.asarray(noise * np.sqrt(variance_inflation(memory_around_a_line(left)) / near))


def _spread(name: str, together: _Together, scale: Scale) -> tuple[float, float]:
    """How far seeds lie apart, as a standard deviation of a run to come, and its degrees of freedom."""
    usual = usual_spread(name, together.heights, scale)
    count = len(together.apart)
    if count < 2:
        return usual * math.sqrt(2.0), PRIOR_FREEDOM
    seen = float(np.mean(np.sum(together.apart**2, axis=0) / (count - 1)))
    freedom = FREEDOM_PER_RUN * (count - 1)
    prior = max(LEAST_PRIOR, PRIOR_FREEDOM - freedom)
    joined = (prior * usual**2 + freedom * seen) / (prior + freedom)
    # The mean of a few runs is itself not where the mean of many is.
    return math.sqrt(joined * (1.0 + 1.0 / count)), min(prior + freedom, MOST_FREEDOM)


def usual_spread(name: str, heights: Values, scale: Scale) -> float:
    """How far two seeds lie apart where nothing but one curve is known."""
    if scale is Scale.LOG:
        return SPREAD_NORM if name.split("/")[0] == "grad_norm" else SPREAD_LOG
    return max(SPREAD_LINEAR * float(np.ptp(heights)), LEAST_SPREAD * float(np.median(np.abs(heights))))


def _early(count: int) -> Values:
    factors = np.ones(count)
    factors[: len(EARLY)] = EARLY[:count]
    return factors


def _in_time(together: _Together) -> Values:
    """What it makes of a height to be there earlier or later."""
    place = np.log1p(np.asarray(together.knots, dtype=np.float64))
    if len(place) < 3:
        return np.zeros(len(place))
    slopes = np.abs(np.diff(together.heights) / np.diff(place))
    steepest = np.maximum(np.append(slopes, slopes[-1]), np.append(slopes[0], slopes))
    return np.asarray(EARLIER_OR_LATER * steepest)


def _scaled(values: Values, scale: Scale) -> Values:
    return np.log(np.maximum(values, TINY)) if scale is Scale.LOG else tame(values)


def _row(step: int, height: float, width: float, scale: Scale) -> Row:
    low, expected, high = (
        math.exp(min(max(one, -705.0), 705.0)) if scale is Scale.LOG else one
        for one in (height - width, float(height), height + width)
    )
    return Row(step, low, expected, high)
