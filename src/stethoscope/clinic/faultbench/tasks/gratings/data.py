"""Gratings of eight directions in noise."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIZE = 14
CLASSES = 8
TRAIN, VAL = 768, 384


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Pictures and classes to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some gratings, each with a direction of its own, a phase, a period and noise."""
    labels = rng.integers(CLASSES, size=count)
    angle = np.pi * (labels + rng.normal(0, 0.12, count)) / CLASSES
    period = rng.uniform(3.5, 6.0, count)
    phase = rng.uniform(0, 2 * np.pi, count)
    y, x = np.mgrid[:SIZE, :SIZE]
    along = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
    waves = np.sin(2 * np.pi * along / period[:, None, None] + phase[:, None, None])
    pictures = 127.5 + 45 * waves + rng.normal(0, 45, waves.shape)
    return {"images": pictures.clip(0, 255).astype(np.uint8), "labels": labels.astype(np.int64)}
