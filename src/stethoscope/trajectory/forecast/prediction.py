"""A forecast that says how far it can be trusted, or that it cannot.

A curve is fitted to the first half of what is known and held against the next quarter. Where it misses that
by more than 10 % there is no forecast. The band of one that passes has two parts: what the noise of fitted
points leaves open (residuals drawn again in blocks, since noise remembers itself), and what no fit of one
family knows: curves bend. The second grows with the distance; its size was measured on curves that were
continued (`benchmarks/trajectory_coverage.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import block_means, memory_around_a_line, tame
from stethoscope.run import Steps, Values
from stethoscope.trajectory.forecast.families import DECAY, LR_SUM, POWER, Curve, Inputs, fit
from stethoscope.trajectory.forecast.lr_sums import sums

LEAST_POINTS = 40  # diagnosis of a power law needs as many
MOST_POINTS = 64  # block means that are fitted
DRAWS = 60
WORST_BACK_TEST = 0.10  # relative: a fit that misses its own future by more is refused
PREFERRED = 1.25  # times the error of the best family that the one in the summed rate may have
BENDS = 0.10  # of a logarithm per factor e of distance: how far curves leave their family
FREEDOM = 5.0  # degrees of freedom of a forecast's width
FARTHEST = 4.0  # times the steps that were seen; beyond it nothing is forecast


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """How a curve goes on: at each step asked for, its level and the standard deviation of that level.

    Both are in the units of the fit: logarithms where `relative`. `missed` is the error of the back-test.
    """

    family: str
    level: Values
    error: Values
    missed: float
    freedom: float = FREEDOM


def forecast(
    steps: Steps,
    values: Values,
    asked: Steps | Values,
    relative: bool,
    schedule: tuple[Steps, Values] | None = None,
    seed: int = 0,
) -> Forecast | str:
    """The forecast of finite values at the steps asked for, or why there is none.

    `relative` is for positive values that fall (losses); others are taken to rise (scores). `schedule` are
    steps and learning rates up to the last step asked for.
    """
    if len(values) < LEAST_POINTS:
        return f"{len(values)} values are too few to forecast from; {LEAST_POINTS} are the least"
    asked = np.asarray(asked, dtype=np.float64)
    if float(asked.max()) > FARTHEST * float(steps[-1]):
        return f"step {asked.max():,.0f} is more than {FARTHEST:g} times as far as the curve is known"
    x, y = block_means(steps, tame(values), MOST_POINTS)
    y = y if relative else -y
    if relative and float(y.min()) <= 0.0:
        return "its values are not above zero"
    known = _inputs(x, schedule)
    tried = {name: _back_test(name, known, y, relative) for name in _families(known)}
    tested = {name: missed for name, missed in tried.items() if missed is not None}
    if not tested:
        return "no curve of a known family fits it"
    name = _chosen(tested)
    if abs(tested[name]) > WORST_BACK_TEST:
        return f"a fit to its first half misses the next quarter by {abs(tested[name]):.0%}"
    curve = fit(name, known, y, relative)
    if curve is None:
        return "no curve of a known family fits it"
    ahead = _inputs(asked, schedule)
    level = _scaled(curve.at(ahead), relative)
    noise = _by_noise(curve, known, y, ahead, relative, seed)
    bends = _by_bends(known, y, asked, tested[name], relative)
    return Forecast(name, level if relative else -level, np.hypot(noise, bends), tested[name])


def _inputs(places: Values, schedule: tuple[Steps, Values] | None) -> Inputs:
    if schedule is None or len(schedule[0]) < 2:
        return Inputs(places)
    return Inputs(places, *sums(*schedule, places))


def _families(known: Inputs) -> list[str]:
    return [LR_SUM, POWER, DECAY] if known.spent is not None else [POWER, DECAY]


def _back_test(name: str, known: Inputs, y: Values, relative: bool) -> float | None:
    """By how much a fit to the first half misses the level of the quarter behind it."""
    half, until = len(y) // 2, 3 * len(y) // 4
    curve = fit(name, known.first(half), y[:half], relative)
    if curve is None:
        return None
    later = known.select(np.arange(half, until))
    made, seen = _scaled(curve.at(later), relative), _scaled(y[half:until], relative)
    missed = float(np.median(made - seen))
    # A score has no unit of its own: what it has moved through is one.
    return missed if relative else missed / max(float(np.ptp(y)), 1e-300)


def _chosen(tested: dict[str, float]) -> str:
    best = min(tested, key=lambda name: abs(tested[name]))
    if LR_SUM in tested and abs(tested[LR_SUM]) <= max(PREFERRED * abs(tested[best]), 0.01):
        return LR_SUM
    return best


def _by_noise(curve: Curve, known: Inputs, y: Values, ahead: Inputs, relative: bool, seed: int) -> Values:
    """How far forecasts scatter where the residuals are drawn again, in blocks."""
    rng = np.random.default_rng(seed)
    middle = _scaled(curve.at(known), relative)
    left = _scaled(y, relative) - middle
    block = _block(left)
    made = []
    for _ in range(DRAWS):
        drawn = middle + _drawn(left, block, rng)
        again = fit(curve.family, known, np.exp(drawn) if relative else drawn, relative, curve)
        if again is not None:
            made.append(_scaled(again.at(ahead), relative))
    if len(made) < DRAWS // 2:
        return np.full(len(ahead.steps), math.inf)
    deviation = np.array(made) - _scaled(curve.at(ahead), relative)
    return np.asarray(np.sqrt(np.mean(np.minimum(deviation**2, 1e6), axis=0)))


def _block(left: Values) -> int:
    rho = memory_around_a_line(left)
    return int(min(max(2.0, 2.0 / max(1.0 - rho, 0.05)), len(left) / 4.0))


def _drawn(left: Values, block: int, rng: np.random.Generator) -> Values:
    starts = rng.integers(0, len(left), size=-(-len(left) // block))
    places = (starts[:, None] + np.arange(block)[None, :]).ravel()[: len(left)]
    return np.asarray(left[places % len(left)] * rng.choice([-1.0, 1.0]))


def _by_bends(known: Inputs, y: Values, asked: Values, missed: float, relative: bool) -> Values:
    unit = 1.0 if relative else float(np.ptp(y))
    distance = np.log(np.maximum(asked / max(float(known.steps[-1]), 1.0), 1.0))
    # The back-test went a factor of 1.5 beyond what it was fitted to.
    return np.asarray(unit * np.maximum(BENDS, abs(missed) / math.log(1.5)) * distance)


def _scaled(values: Values, relative: bool) -> Values:
    return np.log(np.maximum(values, 1e-300)) if relative else values
