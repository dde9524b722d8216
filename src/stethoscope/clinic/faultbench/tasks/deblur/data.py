"""Pictures of overlapping shapes, sharp and blurred."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIZE = 32
MARGIN = 3  # drawn around a picture and cut off behind the blur
SHAPES = 6
BLUR = 0.9  # the standard deviation of the lens, in pixels
GRAIN = 0.5  # of the sensor, in grey levels
TRAIN, VAL = 320, 24


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Pairs of pictures to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some pictures as a lens blurs them, and as they are."""
    sharp = shapes(rng, count)
    return photographed(rng, sharp)


def shapes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Discs and slanted boxes, one upon the other, with a margin around each picture."""
    side = SIZE + 2 * MARGIN
    y, x = np.mgrid[:side, :side].astype(np.float32)
    pictures = np.tile(_each(rng.uniform(60, 200, count)), (1, side, side))
    for _ in range(SHAPES):
        grey, angle = _each(rng.uniform(10, 245, count)), _each(rng.uniform(0, np.pi, count))
        dx, dy = x - _each(rng.uniform(0, side, count)), y - _each(rng.uniform(0, side, count))
        wide, high = _each(rng.uniform(2, 10, count)), _each(rng.uniform(2, 10, count))
        along, across = np.cos(angle) * dx + np.sin(angle) * dy, np.cos(angle) * dy - np.sin(angle) * dx
        box = (abs(along) < wide) & (abs(across) < high)
        disc = (along / wide) ** 2 + (across / high) ** 2 < 1
        inside = np.where(_each(rng.random(count)) < 0.5, box, disc)
        pictures = np.where(inside, grey, pictures)
    return pictures


def photographed(rng: np.random.Generator, pictures: np.ndarray) -> Arrays:
    """Pictures with a margin, blurred and sharp, both without it."""
    taps = np.exp(-0.5 * (np.arange(-MARGIN, MARGIN + 1) / BLUR) ** 2).astype(np.float32)
    taps /= taps.sum()
    rows = sum(tap * pictures[:, at : at + SIZE] for at, tap in enumerate(taps))
    blurred = sum(tap * rows[:, :, at : at + SIZE] for at, tap in enumerate(taps))
    blurred = blurred + GRAIN * rng.standard_normal(blurred.shape, np.float32)
    return {"blurred": _grey(blurred), "sharp": _grey(pictures[:, MARGIN:-MARGIN, MARGIN:-MARGIN])}


def _each(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float32)[:, None, None]


def _grey(pictures: np.ndarray) -> np.ndarray:
    return pictures.round().clip(0, 255).astype(np.uint8)
