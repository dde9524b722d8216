"""Scenes of two materials, one smooth and one rough, at full and at half size."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIZE = 16
TRAIN, VAL = 480, 64
GRAIN = 46.0  # grey levels by which the rough material varies


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Pairs to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some scenes: `hr` as they are, `lr` as a camera with half the resolution sees them."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE - 0.5
    angle, offset = rng.uniform(0, 2 * np.pi, count), rng.uniform(-0.2, 0.2, count)
    across = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y - offset[:, None, None]
    rough = across > 0.08 * np.sin(8 * (x - y))
    dark, bright = rng.uniform(55, 95, count), rng.uniform(145, 185, count)
    slope = rng.uniform(-30, 30, count)[:, None, None] * x
    scenes = np.where(rough, bright[:, None, None], dark[:, None, None]) + slope
    scenes = scenes + np.where(rough, GRAIN, 2.0) * _grain(rng, count)
    hr = scenes.clip(0, 255)
    lr = hr.reshape(count, SIZE // 2, 2, SIZE // 2, 2).mean((2, 4))
    return {"lr": lr.round().astype(np.uint8), "hr": hr.round().astype(np.uint8)}


def _grain(rng: np.random.Generator, count: int) -> np.ndarray:
    """Noise with little of it left at half the size: each value stands against its neighbours."""
    noise = rng.normal(0, 1, (count, SIZE, SIZE))
    around = sum(np.roll(noise, shift, axis) for shift in (-1, 1) for axis in (1, 2)) / 4
    fine = noise - 0.8 * around
    return np.asarray(fine / fine.std())
