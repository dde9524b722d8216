"""A model of the dynamic loss scaler: what the path of its scale says about overflows.

The scaler halves its scale at every overflow (and skips the step) and doubles it after a number of clean
steps, the growth interval. Its level means nothing by itself; what matters is whether overflows come
faster than growth can repair, and whether a smaller scale makes them rarer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.distributions import beta_cdf, chi2_tail, clopper_pearson
from stethoscope.run import Steps, Values

TORCH_GROWTH_INTERVAL = 2000
TORCH_INITIAL_SCALE = 65536.0
FP16_MAX = 65504.0
# A scaler that starts too high finds its level by halving at once: 32 octaves, twice where it waits for a
# second overflow. What falls within so many steps of the start is that search.
SEARCH_STEPS = 64
FAR = 10  # octaves from which on a scale that falls to one has not found its place
SETTLED = 7.0  # where overflows still come, waiting this many usual gaps for one has a chance of 0.1 %
UNDERFLOW = -14  # at 2^-14 a scale pushes ordinary gradients below the smallest half-precision number
LEAST_FALL = 4  # octaves; smaller falls are ordinary moves of a healthy scaler
BAND = 2  # octaves around its usual level within which a scaler in balance moves
LEAST_SKIPS = 5  # below this the hazard test cannot tell forward overflows from backward ones


@dataclass(frozen=True, slots=True)
class ScalerPath:
    """The scale as whole octaves: log2 of the level at each logged point, and the changes between points.

    `steps_at` and `skips_at` give, for each octave, the steps spent there and the overflows met there.
    """

    steps: Steps
    octaves: Steps
    growth_interval: int
    steps_at: dict[int, int]
    skips_at: dict[int, int]

    @property
    def skips(self) -> int:
        """Overflows seen, at least."""
        return sum(self.skips_at.values())

    @property
    def growths(self) -> int:
        """Doublings seen, at least."""
        return int(np.maximum(np.diff(self.octaves), 0).sum())

    @property
    def length(self) -> int:
        """Steps from the first to the last point."""
        return int(self.steps[-1] - self.steps[0]) if len(self.steps) else 0


@dataclass(frozen=True, slots=True)
class Hazard:
    """How the chance of an overflow changes with the scale: its log-odds per octave, and a p-value."""

    slope: float
    p: float

    @property
    def rises_with_scale(self) -> bool:
        """Whether a smaller scale makes overflows rarer: then they happen in the backward pass."""
        return self.slope > 0.5 and self.p < 0.01


@dataclass(frozen=True, slots=True)
class Decline:
    """A fall of the scale that has not ended: from its last highest level to the end of the log."""

    first_step: int
    last_step: int
    from_octave: int
    to_octave: int
    skips: int
    rate: float
    rate_low: float
    critical_rate: float
    hazard: Hazard | None

    @property
    def supercritical(self) -> bool:
        """Whether overflows surely come faster than growth can repair."""
        return self.rate_low > self.critical_rate


def path(steps: Steps, scale: Values, growth_interval: int | None = None) -> ScalerPath:
    """Read the scale's path. Window means lie between two levels and are rounded to the nearer one."""
    keep = np.isfinite(scale) & (scale > 0.0)
    steps, scale = steps[keep], scale[keep]
    octaves = np.clip(np.rint(np.log2(scale)), -1000, 1000).astype(np.int64)
    interval = growth_interval or inferred_growth_interval(steps, octaves) or TORCH_GROWTH_INTERVAL
    steps_at, skips_at = _exposure(steps, octaves)
    return ScalerPath(steps, octaves, interval, steps_at, skips_at)


def after_search(whole: ScalerPath) -> ScalerPath:
    """The path without the opening search for a level."""
    if len(whole.steps) == 0:
        return whole
    cadence = int(np.median(np.diff(whole.steps))) if len(whole.steps) > 1 else 1
    keep = whole.steps - whole.steps[0] > max(SEARCH_STEPS, 2 * cadence)
    steps, octaves = whole.steps[keep], whole.octaves[keep]
    steps_at, skips_at = _exposure(steps, octaves)
    return ScalerPath(steps, octaves, whole.growth_interval, steps_at, skips_at)


def decline(whole: ScalerPath) -> Decline | None:
    """The fall that is still going on at the end of the path, if there is one."""
    fall = _last_fall(whole)
    # Gradients that overflow without being scaled up at all are not a search for the right scale.
    if fall is not None and fall.to_octave < 0:
        return fall
    fall = _last_fall(after_search(whole))
    if fall is None or fall.from_octave - fall.to_octave < LEAST_FALL or fall.skips < LEAST_SKIPS:
        return None
    flat = fall.hazard is None or not fall.hazard.rises_with_scale
    return fall if fall.supercritical or flat else None


def _last_fall(part: ScalerPath) -> Decline | None:
    """The way from the last visit of the highest level to the end, unless it has come to rest."""
    if len(part.steps) < 2:
        return None
    peak = len(part.octaves) - 1 - int(np.argmax(part.octaves[::-1]))
    steps, octaves = part.steps[peak:], part.octaves[peak:]
    falls = np.flatnonzero(np.diff(octaves) < 0) + 1
    if len(falls) == 0 or octaves[-1] > octaves.min():
        return None
    steps_at, skips_at = _exposure(steps, octaves)
    fallen = ScalerPath(steps, octaves, part.growth_interval, steps_at, skips_at)
    is_held = _is_held_at_one(octaves)
    if octaves[-1] > UNDERFLOW and not is_held and _at_rest(fallen, int(steps[falls[-1]])):
        return None
    low, _ = rate_interval(fallen.skips, fallen.length)
    return Decline(
        int(steps[0]),
        int(steps[-1]),
        int(octaves[0]),
        int(octaves[-1]),
        fallen.skips,
        fallen.skips / max(1, fallen.length),
        low,
        critical_rate(part.growth_interval),
        hazard(fallen),
    )


def _is_held_at_one(octaves: Steps) -> bool:
    """Whether the scale fell all the way to one, the least that many trainers allow, without rising once."""
    return bool(octaves[-1] == 0 and octaves[0] >= FAR and (np.diff(octaves) <= 0).all())


def _at_rest(fallen: ScalerPath, last_fall: int) -> bool:
    """Whether overflows have stopped: many more clean steps since the last than between two of them."""
    cadence = float(np.median(np.diff(fallen.steps)))
    usual = (last_fall - int(fallen.steps[0])) / fallen.skips
    return int(fallen.steps[-1]) - last_fall > SETTLED * max(usual, cadence)


def inferred_growth_interval(steps: Steps, octaves: Steps) -> int | None:
    """The growth interval that a path shows: the shortest time between two doublings in a row."""
    change = np.diff(octaves)
    moved = np.flatnonzero(change)
    both_up = (change[moved[1:]] == 1) & (change[moved[:-1]] == 1)
    if not both_up.any():
        return None
    gaps = steps[moved[1:] + 1] - steps[moved[:-1] + 1]
    return max(1, int(gaps[both_up].min()))


def critical_rate(growth_interval: int) -> float:
    """The overflow rate at which growth and backoff balance; above it the scale falls without end."""
    return float(-np.expm1(-math.log(2.0) / growth_interval))


def drift(rate: float, growth_interval: int) -> float:
    """Octaves per step that the scale moves at a constant overflow rate."""
    if rate <= 0.0:
        return 1.0 / growth_interval
    if rate >= 1.0:
        return -1.0
    wait = -growth_interval * math.log1p(-rate)
    return (rate / math.expm1(wait) if wait < 700.0 else 0.0) - rate


def rate_interval(skips: int, steps: int) -> tuple[float, float]:
    """The confidence interval of the overflow rate."""
    trials = max(steps, skips, 1)
    return clopper_pearson(skips, trials)


def chance_supercritical(skips: int, steps: int, growth_interval: int) -> float:
    """How likely overflows are to come faster than growth can repair, by nothing but these counts."""
    trials = max(steps, skips, 1)
    # Jeffreys' prior: half an overflow and half a clean step.
    return 1.0 - beta_cdf(critical_rate(growth_interval), skips + 0.5, trials - skips + 0.5)


def steps_until_below_one(octave: int, rate: float, growth_interval: int) -> float:
    """The steps that the scale takes down to 1 at a constant overflow rate; infinity for never."""
    falling = -drift(rate, growth_interval)
    return max(octave, 0) / falling if falling > 0.0 else math.inf


def largest_gradient(octave: int) -> float:
    """The largest half-precision gradient that a scale leaves unharmed, about what the model has at most."""
    return math.ldexp(FP16_MAX, -octave)


def in_balance(settled: ScalerPath) -> bool:
    """Whether a path without its search moves as a healthy one does: around one level, with few overflows."""
    if len(settled.octaves) == 0:
        return False
    usual = int(np.median(settled.octaves))
    near = bool(np.all(np.abs(settled.octaves - usual) <= BAND))
    return near and settled.skips <= max(1.0, settled.length / settled.growth_interval)


def hazard(whole: ScalerPath) -> Hazard | None:
    """Fit logit(overflow) = a + b * octave and test b = 0; None for fewer than three overflows."""
    if whole.skips < 3 or len(whole.steps_at) < 2:
        return None
    levels = sorted(whole.steps_at)
    octave = np.array(levels, dtype=np.float64)
    trials = np.array([max(whole.steps_at[s], whole.skips_at.get(s, 0), 1) for s in levels], dtype=np.float64)
    events = np.array([whole.skips_at.get(s, 0) for s in levels], dtype=np.float64)
    slope, fitted = _fit_logistic(octave - octave.mean(), trials, events)
    flat = _log_likelihood(np.full_like(trials, events.sum() / trials.sum()), trials, events)
    gain = max(0.0, 2.0 * (_log_likelihood(fitted, trials, events) - flat))
    return Hazard(slope, chi2_tail(gain, 1.0))


def _exposure(steps: Steps, octaves: Steps) -> tuple[dict[int, int], dict[int, int]]:
    """Steps spent and overflows met at each octave; a fall by several octaves passes each in one step."""
    if len(steps) == 0:
        return {}, {}
    lowest, highest = int(octaves.min()), int(octaves.max())
    level = octaves - lowest
    levels = highest - lowest + 1
    gaps = np.maximum(np.diff(steps), 1)
    spent = np.bincount(level[:-1], weights=gaps, minlength=levels)
    falls = np.flatnonzero(np.diff(octaves) < 0)
    left = np.bincount(level[falls], minlength=levels)
    landed = np.bincount(level[falls + 1], minlength=levels)
    # A level is passed by every fall that begins at it or above and has not landed yet.
    skips = np.cumsum((left - landed)[::-1])[::-1]
    spent = spent + skips - left
    return _counted(np.rint(spent).astype(np.int64), lowest), _counted(skips, lowest)


def _counted(counts: Steps, lowest: int) -> dict[int, int]:
    return {lowest + at: int(counts[at]) for at in np.flatnonzero(counts).tolist()}


def _fit_logistic(x: Values, trials: Values, events: Values) -> tuple[float, Values]:
    """Newton's method with a little ridge, so that separated data gives a steep slope and not infinity."""
    design = np.stack([np.ones_like(x), x], axis=1)
    rate = (events.sum() + 0.5) / (trials.sum() + 1.0)
    beta = np.array([math.log(rate / (1.0 - rate)), 0.0])
    ridge = np.diag([1e-6, 1e-2])
    for _ in range(60):
        fitted = _probability(design @ beta)
        gradient = design.T @ (events - trials * fitted) - ridge @ beta
        curvature = (design.T * (trials * fitted * (1.0 - fitted))) @ design + ridge
        move = np.clip(np.linalg.solve(curvature, gradient), -2.0, 2.0)
        beta = beta + move
        if float(np.abs(move).max()) < 1e-9:
            break
    return float(beta[1]), _probability(design @ beta)


def _probability(logit: Values) -> Values:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0))), dtype=np.float64)


def _log_likelihood(p: Values, trials: Values, events: Values) -> float:
    p = np.clip(p, 1e-15, 1.0 - 1e-15)
    return float(events @ np.log(p) + (trials - events) @ np.log1p(-p))
