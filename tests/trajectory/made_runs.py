"""Runs and series made for the tests."""

from __future__ import annotations

import numpy as np

from stethoscope.run import Run, Series


def series(name: str, steps: np.ndarray, values: np.ndarray, axis: str = "step") -> Series:
    """A series as a reader would give it."""
    return Series(name, name, steps.astype(np.int64), values.astype(np.float64), "train.csv", axis=axis)


def falling_loss(seed: int, factor: float = 1.0, last: int = 1000, noise: float = 0.05) -> Series:
    """A loss that falls as a power law, logged every 5 steps; `factor` times as high from step 400 on."""
    rng = np.random.default_rng(seed)
    steps = np.arange(5, last + 1, 5)
    level = 0.3 + 2.0 * (1 + steps / 10.0) ** -0.5
    level = level * np.where(steps > 400, factor, 1.0)
    return series("loss", steps, level * np.exp(noise * rng.standard_normal(len(steps))))


def rising_accuracy(seed: int, last: int = 1000, unit: float = 1.0) -> Series:
    """An accuracy measured every 50 steps."""
    rng = np.random.default_rng(seed)
    steps = np.arange(50, last + 1, 50)
    values = 0.9 - 0.5 * np.exp(-steps / 200.0) + 0.003 * rng.standard_normal(len(steps))
    return series("val/accuracy", steps, unit * values)


def cosine_rate(last: int = 1000, peak: float = 1e-3, warm: int = 100) -> Series:
    """A learning rate that warms up and comes down."""
    steps = np.arange(0, last + 1, 10)
    rate = np.where(steps < warm, steps / warm, 0.5 * (1 + np.cos(np.pi * (steps - warm) / (last - warm))))
    return series("lr", steps, peak * rate)


def run_of(*every: Series) -> Run:
    """A run that logged these."""
    return Run("runs/made", "made", series={one.name: one for one in every})


def healthy(seed: int) -> Run:
    """A healthy run of one recipe."""
    return run_of(falling_loss(seed), rising_accuracy(seed), cosine_rate())
