"""Detectors that judge the shape of a curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from detector_study.curves import NOISES, Generator, Rows, flat, healthy, power_law
from detector_study.study import Cell, Study
from stethoscope.detectors.divergence import rise
from stethoscope.detectors.peak import peak
from stethoscope.detectors.periodicity import swing
from stethoscope.detectors.plateau import flatness
from stethoscope.detectors.rising_run import rising_run
from stethoscope.detectors.step_up import step_up
from stethoscope.detectors.trend import trend

LEVEL = 0.01
ALL_NOISES = tuple(NOISES)
QUIET, LOUD = 0.05, 0.25  # deviations of the noise, relative to the level of a loss


def studies() -> tuple[Study, ...]:
    """The studies of this file."""
    return (_trend(), _peak(), _rise(), _swing(), _flatness(), _rising_run(), _step_up())


def _trend() -> Study:
    return Study(
        "trend",
        "does the series rise or fall",
        LEVEL,
        _has_trend,
        _noise_only((16, 64, 256, 2000)),
        tuple(
            _noisy(f"change of {change:g} sd, {noise}", count, noise, _ramp(change))
            for count, change in ((16, 3.0), (64, 2.0), (256, 1.0), (256, 2.0), (2000, 1.0))
            for noise in ("white", "AR(1) 0.5", "AR(1) 0.9", "log-normal")
        ),
        repeats=2000,
    )


def _has_trend(y: Rows) -> bool:
    line = trend(np.arange(len(y)), y)
    return line is not None and min(line.p_rising, line.p_falling) < LEVEL / 2.0


def _peak() -> Study:
    shapes: dict[str, Callable[[int], Rows]] = {
        "flat": lambda count: np.zeros(count),
        "rising": lambda count: -20.0 * (power_law(count) - 1.0),
    }
    return Study(
        "peak",
        "did the metric peak and then decline",
        LEVEL,
        _declines,
        tuple(
            _noisy(f"{shape}, {noise}", count, noise, make)
            for shape, make in shapes.items()
            for noise in ALL_NOISES
            for count in (12, 40, 100, 400)
        ),
        tuple(
            _noisy(f"drop of {drop:g} sd, {noise}", count, noise, _hill(drop))
            for noise in ("white", "AR(1) 0.5", "AR(1) 0.8")
            for drop in (5.0, 10.0)
            for count in (12, 40, 100, 400)
        ),
        repeats=300,
    )


def _declines(y: Rows) -> bool:
    seen = peak(np.arange(len(y)), y)
    return seen is not None and seen.declines


def _rise() -> Study:
    return Study(
        "rise",
        "did the loss leave its best level for good",
        None,
        _rises,
        _losses((16, 64, 256, 2000)),
        tuple(
            _loss(name, count, noise, relative, make)
            for name, make in (
                ("grows to 1.5 times", _growing(1.5)),
                ("grows to 3 times", _growing(3.0)),
                ("exponential, last eighth", _exploding),
                ("step to twice the level", _stepping(2.0)),
            )
            for noise, relative in (
                ("white", QUIET),
                ("white", LOUD),
                ("AR(1) 0.9", QUIET),
                ("log-normal", LOUD),
            )
            for count in (64, 256, 2000)
        ),
        repeats=300,
    )


def _rises(y: Rows) -> bool:
    seen = rise(np.arange(len(y)), y)
    # What the rule on divergence calls large enough to be reported.
    return seen is not None and (seen.severe or (seen.ratio >= 1.2 and seen.gain_lost >= 0.05))


def _swing() -> Study:
    return Study(
        "swing",
        "does the series swing with a period",
        1e-3,
        lambda y: swing(np.arange(len(y)), y) is not None,
        (*_losses((80, 256, 2000), (QUIET,)), *_noise_only((80, 256, 2000))),
        tuple(
            _noisy(f"{periods} periods of {amplitude:g} sd, {noise}", count, noise, _wave(periods, amplitude))
            for count in (80, 256, 2000)
            for periods, amplitude in ((5, 1.0), (5, 2.0), (16, 1.0), (16, 0.5))
            for noise in ("white", "AR(1) 0.5", "AR(1) 0.9")
        ),
        repeats=300,
    )


def _flatness() -> Study:
    """Here the error is to call a curve flat that moves by what flat means: 2 % of its level."""
    moving = tuple(
        _loss(f"falls by {change:.1%}", count, noise, relative, _falling(change))
        for change in (0.021, 0.03, 0.05)
        for noise in ALL_NOISES
        for relative in (0.01, 0.05)
        for count in (40, 256, 2000)
    )
    still = tuple(
        _loss("flat", count, noise, relative, flat)
        for noise in ("white", "AR(1) 0.5", "AR(1) 0.9")
        for relative in (0.01, 0.05)
        for count in (40, 256, 2000)
    )
    return Study("flatness", "does the curve surely stay within 2 %", 0.025, _is_flat, moving, still, 200)


def _is_flat(y: Rows) -> bool:
    seen = flatness(np.arange(len(y)), y)
    return seen is not None and seen.within(0.02)


def _rising_run() -> Study:
    return Study(
        "rising run",
        "do the last values rise, one after the other",
        LEVEL,
        lambda y: rising_run(y).p < LEVEL,
        _noise_only((5, 8, 11)),
        tuple(
            _noisy(f"{gain:g} sd a step, {noise}", count, noise, _ramp(gain * (count - 1)))
            for count in (5, 8, 11)
            for gain in (1.0, 3.0)
            for noise in ("white", "AR(1) 0.5")
        ),
        repeats=4000,
    )


def _step_up() -> Study:
    """As Guard asks it: about the last 15 medians of eight losses each."""
    return Study(
        "step up",
        "did the level go up at once and stay",
        None,
        lambda y: step_up(np.median(y.reshape(-1, 8), axis=1)) is not None,
        _losses((120,)),
        tuple(
            _loss(f"step to {factor:g} times", 120, noise, relative, _late_step(factor))
            for factor in (1.3, 1.5, 2.0)
            for noise, relative in (
                ("white", QUIET),
                ("white", LOUD),
                ("AR(1) 0.9", QUIET),
                ("log-normal", LOUD),
            )
        ),
        repeats=2000,
    )


# ---- cells -------------------------------------------------------------------------------------------------


def _noise_only(counts: Iterable[int]) -> tuple[Cell, ...]:
    return tuple(_noisy(f"flat, {noise}", count, noise, np.zeros) for noise in ALL_NOISES for count in counts)


def _losses(counts: Iterable[int], deviations: Iterable[float] = (QUIET, LOUD)) -> tuple[Cell, ...]:
    """Losses of every shape under every noise."""
    return tuple(
        Cell(f"{shape}, {noise} {relative:g}", count, _healthy(shape, noise, count, relative))
        for shape in ("flat", "power law", "cosine tail")
        for noise in ALL_NOISES
        for relative in deviations
        for count in counts
    )


def _healthy(shape: str, noise: str, count: int, relative: float) -> Callable[[Generator, int], Rows]:
    return lambda rng, rows: healthy(rng, shape, noise, rows, count, relative)


def _noisy(label: str, count: int, noise: str, make: Callable[[int], Rows]) -> Cell:
    """A shape in units of the noise, with noise of unit deviation."""
    return Cell(label, count, lambda rng, rows: make(count) + NOISES[noise](rng, rows, count))


def _loss(label: str, count: int, noise: str, relative: float, make: Callable[[int], Rows]) -> Cell:
    """A level, with noise relative to it."""

    def draw(rng: Generator, rows: int) -> Rows:
        level = make(count)
        curve = level * (1.0 + relative * NOISES[noise](rng, rows, count))
        return np.asarray(np.maximum(curve, 0.1 * level), dtype=np.float64)

    return Cell(f"{label}, {noise} {relative:g}", count, draw)


# ---- shapes ------------------------------------------------------------------------------------------------


def _ramp(change: float) -> Callable[[int], Rows]:
    return lambda count: np.linspace(0.0, change, count)


def _hill(drop: float) -> Callable[[int], Rows]:
    """A rise over two fifths, as high as the drop after it is deep."""
    return lambda count: np.interp(np.linspace(0.0, 1.0, count), [0.0, 0.4, 1.0], [0.0, drop, 0.0])


def _wave(periods: int, amplitude: float) -> Callable[[int], Rows]:
    return lambda count: amplitude * np.sin(2.0 * np.pi * periods * np.arange(count) / count)


def _falling(change: float) -> Callable[[int], Rows]:
    return lambda count: np.linspace(1.0, 1.0 - change, count)


def _growing(factor: float) -> Callable[[int], Rows]:
    """A loss that falls for half of its length and grows from there."""

    def make(count: int) -> Rows:
        level = power_law(count)
        half = count // 2
        level[half:] = level[half] * np.linspace(1.0, factor, count - half)
        return level

    return make


def _exploding(count: int) -> Rows:
    """A loss that doubles four times within its last eighth."""
    level = power_law(count)
    last = count // 8
    level[-last:] *= 2.0 ** np.linspace(0.0, 4.0, last)
    return level


def _stepping(factor: float) -> Callable[[int], Rows]:
    def make(count: int) -> Rows:
        level = power_law(count)
        level[2 * count // 3 :] = factor * level[2 * count // 3]
        return level

    return make


def _late_step(factor: float) -> Callable[[int], Rows]:
    """A step three blocks of eight before the end."""
    return lambda count: np.where(np.arange(count) < count - 24, 1.0, factor)
