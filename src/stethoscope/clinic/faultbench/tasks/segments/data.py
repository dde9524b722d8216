"""Tiles of stained tissue: cells with nuclei, fibres between them, and a mask that names every pixel."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIDE, SMALLEST = 20, 15  # tiles at the rim of a slide are smaller, and padded
BACKGROUND, CELL, NUCLEUS, FIBRE = range(4)
VOID = 255  # where nothing is known: the padding
SLIDES = 6
TRAIN, VAL = 320, 48

BRIGHTNESS = (150.0, 118.0, 84.0, 132.0)  # of each class, in grey levels
GRAIN = (10.0, 32.0)  # of the sensor: slides were scanned at different times
STRIPES = 34.0  # fibres are told from cells by their texture


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Tiles to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some tiles with their masks, and the slide that each was cut from."""
    slide = rng.integers(SLIDES, size=count)
    tiles = np.zeros((count, SIDE, SIDE), np.uint8)
    masks = np.full((count, SIDE, SIDE), VOID, np.uint8)
    for one in range(count):
        high, wide = rng.integers(SMALLEST, SIDE + 1, size=2)
        mask, angle = _drawn_mask(rng)
        tile = _stained(rng, mask, angle, int(slide[one]))
        tiles[one, :high, :wide] = tile[:high, :wide]
        masks[one, :high, :wide] = mask[:high, :wide]
    return {"tile": tiles, "mask": masks, "slide": slide.astype(np.int64)}


def _drawn_mask(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Fibres of one direction, and cells upon them."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    mask = np.full((SIDE, SIDE), BACKGROUND, np.uint8)
    angle = float(rng.uniform(0, np.pi))
    across = np.cos(angle) * y - np.sin(angle) * x
    for _ in range(int(rng.integers(0, 3))):
        middle = np.cos(angle) * rng.uniform(0, SIDE) - np.sin(angle) * rng.uniform(0, SIDE)
        mask[abs(across - middle) < rng.uniform(1.5, 3.0)] = FIBRE
    for _ in range(int(rng.integers(1, 4))):
        dy, dx = y - rng.uniform(2, SIDE - 2), x - rng.uniform(2, SIDE - 2)
        turn, long, short = rng.uniform(0, np.pi), rng.uniform(3.5, 6), rng.uniform(3, 4.5)
        along, beside = np.cos(turn) * dx + np.sin(turn) * dy, np.cos(turn) * dy - np.sin(turn) * dx
        distance = (along / long) ** 2 + (beside / short) ** 2
        mask[distance < 1] = CELL
        mask[distance < rng.uniform(0.15, 0.35)] = NUCLEUS
    return mask, angle


def _stained(rng: np.random.Generator, mask: np.ndarray, angle: float, slide: int) -> np.ndarray:
    """What the scanner saw of a mask: stripes along fibres, light from one side, grain."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    share = slide / (SLIDES - 1)
    seen = np.asarray(BRIGHTNESS, np.float32)[mask]
    along = np.cos(angle) * x + np.sin(angle) * y
    seen = seen + STRIPES * (mask == FIBRE) * np.sin(2.0 * along)
    seen = seen + rng.uniform(-1, 1) * (x - SIDE / 2) + rng.uniform(-1, 1) * (y - SIDE / 2)
    seen = seen * rng.uniform(0.9, 1.1) * (1.1 - 0.2 * share)
    grain = GRAIN[0] + (GRAIN[1] - GRAIN[0]) * share
    seen = seen + grain * rng.standard_normal(seen.shape)
    grey: np.ndarray = seen.round().clip(0, 255)
    return grey.astype(np.uint8)
