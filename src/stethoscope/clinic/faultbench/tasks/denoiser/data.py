"""Small colour pictures of soft shapes in front of a gradient; a few are of one colour."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIZE = 12
CHANNELS = 3
TRAIN, VAL = 1024, 96
PLAIN = 0.015  # share of pictures of a single colour, as scans of an empty page are


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Pictures to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some pictures: a gradient of two colours and one or two shapes in others."""
    y, x = np.mgrid[:SIZE, :SIZE] / (SIZE - 1) - 0.5
    angle = rng.uniform(0, 2 * np.pi, count)[:, None, None]
    along = (np.cos(angle) * x + np.sin(angle) * y + 0.5)[..., None].clip(0, 1)
    begin, end = _colours(rng, count), _colours(rng, count)
    pictures = begin * (1 - along) + end * along
    for share in (1.0, 0.5):
        inside = _shape(rng, count, x, y) * (rng.random(count) < share)[:, None, None]
        pictures += inside[..., None] * (_colours(rng, count) - pictures)
    plain = rng.random(count) < PLAIN
    pictures[plain] = begin[plain]
    return {"images": (127.5 * (pictures + 1)).round().clip(0, 255).astype(np.uint8)}


def _colours(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(-1, 1, (count, 1, 1, CHANNELS))


def _shape(rng: np.random.Generator, count: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much of each pixel lies inside a disc or a rectangle of its own."""

    def each(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, (count, 1, 1))

    across, down = np.abs(x - each(-0.3, 0.3)), np.abs(y - each(-0.3, 0.3))
    wide, high = each(0.12, 0.35), each(0.12, 0.35)
    disc = wide - np.hypot(across, down)
    rectangle = np.minimum(wide - across, high - down)
    inside = np.where(rng.random((count, 1, 1)) < 0.5, disc, rectangle)
    result: np.ndarray = (SIZE * inside + 0.5).clip(0, 1)
    return result
