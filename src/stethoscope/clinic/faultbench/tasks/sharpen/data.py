"""Small grey textures with sharp edges, and the same at half the size, a little out of focus."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

SIZE = 48
BLUR = (0.1, 0.2, 0.4, 0.2, 0.1)
TRAIN, VAL = 160, 32

Texture = Callable[[np.random.Generator], np.ndarray]
Y, X = np.mgrid[:SIZE, :SIZE].astype(np.float32)


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Pairs to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some pairs `lq`, `gt` of 8-bit pictures, and the kind of each texture."""
    kind = rng.integers(len(KINDS), size=count)
    gt = np.stack([_picture(rng, KINDS[one]) for one in kind]).clip(0, 255).round()
    lq = _halved(_blurred(gt)).round()
    return {"lq": lq.astype(np.uint8), "gt": gt.astype(np.uint8), "kind": kind.astype(np.int64)}


def _picture(rng: np.random.Generator, texture: Texture) -> np.ndarray:
    """A texture of values in [0, 1] in two greys of its own, with a shade over it."""
    dark, bright = rng.uniform(20, 95), rng.uniform(150, 230)
    right, down = rng.uniform(-0.35, 0.35, 2)
    shade = right * (X - SIZE / 2) + down * (Y - SIZE / 2)
    return np.asarray(dark + (bright - dark) * texture(rng) + shade)


def _stripes(rng: np.random.Generator) -> np.ndarray:
    angle, period, phase = rng.uniform(0, np.pi), rng.uniform(6, 14), rng.uniform(0, 1)
    along = (np.cos(angle) * X + np.sin(angle) * Y) / period + phase
    return _inside((rng.uniform(0.17, 0.33) - np.abs(along % 1.0 - 0.5)) * period)


def _cells(rng: np.random.Generator) -> np.ndarray:
    count = int(rng.integers(14, 30))
    seeds, grey = rng.uniform(-4, SIZE + 4, (count, 2, 1, 1)), rng.uniform(0, 1, (count, 1, 1))
    apart = (X - seeds[:, 0]) ** 2 + (Y - seeds[:, 1]) ** 2
    share = np.exp(0.4 * (apart.min(0) - apart))
    return np.asarray((share * grey).sum(0) / share.sum(0))


def _blobs(rng: np.random.Generator) -> np.ndarray:
    waves = rng.uniform((0, 9, 0), (2 * np.pi, 18, 2 * np.pi), (8, 3))
    angle, period, phase = waves.T[:, :, None, None]
    along = 2 * np.pi * (np.cos(angle) * X + np.sin(angle) * Y) / period + phase
    return _inside(np.sin(along).sum(0))


def _bricks(rng: np.random.Generator) -> np.ndarray:
    wide, high, joint = rng.uniform(9, 16), rng.uniform(5, 9), rng.uniform(0.6, 1.1)
    row = np.floor(Y / high)
    across = wide / 2 - np.abs((X + 0.5 * wide * (row % 2)) % wide - wide / 2)
    down = high / 2 - np.abs(Y % high - high / 2)
    return _inside(np.minimum(across, down) - joint)


KINDS: tuple[Texture, ...] = (_stripes, _cells, _blobs, _bricks)


def _inside(pixels: np.ndarray) -> np.ndarray:
    """From the distance to an edge, in pixels, how far a pixel lies inside."""
    return np.asarray((0.5 + pixels).clip(0, 1))


def _blurred(pictures: np.ndarray) -> np.ndarray:
    """Every pixel is mixed with its neighbours."""
    margin = len(BLUR) // 2
    wide = np.pad(pictures, ((0, 0), (margin, margin), (margin, margin)), mode="edge")
    rows = np.stack([share * wide[:, at : at + SIZE] for at, share in enumerate(BLUR)]).sum(0)
    mixed: np.ndarray = np.stack([share * rows[:, :, at : at + SIZE] for at, share in enumerate(BLUR)]).sum(0)
    return mixed


def _halved(pictures: np.ndarray) -> np.ndarray:
    """Every square of four pixels becomes one."""
    return np.asarray(pictures.reshape(len(pictures), SIZE // 2, 2, SIZE // 2, 2).mean((2, 4)))
