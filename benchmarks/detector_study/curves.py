"""Healthy curves and their noise, many at a time: one curve in each row."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Generator = np.random.Generator


def white(rng: Generator, rows: int, count: int) -> Rows:
    """Independent normal noise."""
    return rng.standard_normal((rows, count))


def remembering(rho: float) -> Callable[[Generator, int, int], Rows]:
    """AR(1) noise of unit variance."""

    def noise(rng: Generator, rows: int, count: int) -> Rows:
        shocks = rng.standard_normal((rows, count))
        shocks[:, 1:] *= math.sqrt(1.0 - rho * rho)
        for t in range(1, count):
            shocks[:, t] += rho * shocks[:, t - 1]
        return shocks

    return noise


def heavy(rng: Generator, rows: int, count: int) -> Rows:
    """Student's t with three degrees of freedom, of unit variance."""
    return rng.standard_t(3.0, (rows, count)) / math.sqrt(3.0)


def skewed(rng: Generator, rows: int, count: int) -> Rows:
    """Log-normal noise of unit variance around zero, as losses of single batches have."""
    sigma = 0.8
    drawn = np.exp(sigma * rng.standard_normal((rows, count)))
    mean = math.exp(sigma * sigma / 2.0)
    return (drawn - mean) / (mean * math.sqrt(math.expm1(sigma * sigma)))


def fading(rng: Generator, rows: int, count: int) -> Rows:
    """Noise whose deviation falls to a fifth, as it does with the learning rate."""
    return rng.standard_normal((rows, count)) * np.linspace(1.0, 0.2, count)


NOISES: dict[str, Callable[[Generator, int, int], Rows]] = {
    "white": white,
    "AR(1) 0.5": remembering(0.5),
    "AR(1) 0.8": remembering(0.8),
    "AR(1) 0.9": remembering(0.9),
    "AR(1) 0.95": remembering(0.95),
    "Student t3": heavy,
    "log-normal": skewed,
    "fading": fading,
}


def flat(count: int) -> Rows:
    """A level of one."""
    return np.ones(count)


def power_law(count: int) -> Rows:
    """A loss that falls from 3 towards 1, fast and then slowly."""
    return 1.0 + 2.0 * (1.0 + np.linspace(0.0, 200.0, count)) ** -0.5


def cosine_tail(count: int) -> Rows:
    """A loss that falls as a power of the steps and once more as its cosine schedule ends."""
    end = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, count)))
    return power_law(count) - 0.25 * end


SHAPES: dict[str, Callable[[int], Rows]] = {
    "flat": flat,
    "power law": power_law,
    "cosine tail": cosine_tail,
}


def healthy(rng: Generator, shape: str, noise: str, rows: int, count: int, relative: float) -> Rows:
    """Curves of a shape whose noise has a deviation of `relative` of their level; never below a tenth."""
    level = SHAPES[shape](count)
    curve = level * (1.0 + relative * NOISES[noise](rng, rows, count))
    return np.maximum(curve, 0.1 * level)
