"""Image pairs drawn by program: shapes and textures in colour, and the same at half the size.

The low-resolution image is an antialiased bicubic reduction of the high-resolution one, stored
in 8 bits like a file would be. Undoing that reduction is the task.
"""

import logging
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from .options import OptionError, TrainDataset, ValDataset

Array = NDArray[np.float64]
Pair = tuple[Tensor, Tensor]

logger = logging.getLogger("nano_sr")

SHAPES_PER_IMAGE = 10
# Most surfaces in photographs vary by a few levels of 255; some vary by dozens.
LOWEST_CONTRAST = 0.02
HIGHEST_CONTRAST = 0.25


class ProceduralPairs:
    """A fixed list of (LQ, GT) pairs, each tensor shaped CHW in [0, 1]."""

    def __init__(self, opt: TrainDataset | ValDataset, scale: int) -> None:
        if opt.type.lower() != "proceduralpairs":
            raise OptionError(f"unknown dataset type `{opt.type}`; known: proceduralpairs")
        self.name = opt.name
        self.pairs = [
            _pair(draw_image(opt.image_seed + index, opt.image_size), scale)
            for index in range(opt.num_images)
        ]
        logger.info("Dataset %s is drawn: %d pairs of %d px.", opt.name, opt.num_images, opt.image_size)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> Pair:
        return self.pairs[index]


def training_batch(dataset: ProceduralPairs, opt: TrainDataset, seed: int, current_iter: int) -> Pair:
    """Cut the patches of one iteration; the same seed and iteration give the same patches."""
    rng = np.random.default_rng((seed, current_iter))
    patches = [
        _augment(_crop(dataset[int(rng.integers(len(dataset)))], opt.lq_size, rng), opt, rng)
        for _ in range(opt.batch_size_per_gpu)
    ]
    lq, gt = zip(*patches, strict=True)
    return torch.stack(lq), torch.stack(gt)


def draw_image(seed: int, size: int) -> Tensor:
    """Draw one image: overlapping shapes, each with its own colour and a faint texture."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size].astype(np.float64)
    canvas = _fill(rng, y, x)
    for _ in range(SHAPES_PER_IMAGE):
        mask = _choose(rng, (_disc, _bar, _box))(rng, y, x)
        canvas += mask * (_fill(rng, y, x) - canvas)
    return _eight_bit(torch.from_numpy(canvas).float())


def _choose(rng: Generator, options: tuple[Callable[..., Array], ...]) -> Callable[..., Array]:
    return options[int(rng.integers(len(options)))]


def _fill(rng: Generator, y: Array, x: Array) -> Array:
    """Return a shaded colour with a texture on it, shaped CHW."""
    colour = rng.uniform(0.15, 0.85, size=(3, 1, 1))
    shade = rng.uniform(0, 0.15) * _rotated(rng, y, x)[0] / len(y)
    texture = _choose(rng, (_clouds, _clouds, _grating, _checks))(rng, y, x)
    contrast = np.exp(rng.uniform(np.log(LOWEST_CONTRAST), np.log(HIGHEST_CONTRAST)))
    return np.asarray(colour + shade + contrast * texture)


def _clouds(rng: Generator, y: Array, x: Array) -> Array:
    # Natural textures have amplitudes that fall about as 1 / frequency.
    size = len(y)
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :])
    slope = rng.uniform(0.4, 1.2)
    spectrum = np.fft.rfft2(rng.standard_normal((size, size))) / np.maximum(frequency, 1 / size) ** slope
    spectrum[0, 0] = 0
    field = np.fft.irfft2(spectrum, s=(size, size))
    return np.asarray(field / field.std())


def _grating(rng: Generator, y: Array, x: Array) -> Array:
    along = _rotated(rng, y, x)[0]
    return np.asarray(np.sin(2 * np.pi * along / rng.uniform(2.5, 14.0)))


def _checks(rng: Generator, y: Array, x: Array) -> Array:
    along, across = _rotated(rng, y, x)
    side = rng.uniform(3.0, 9.0)
    wave = np.sin(np.pi * along / side) * np.sin(np.pi * across / side)
    return 2 * _soft_step(wave * side / np.pi) - 1


def _disc(rng: Generator, y: Array, x: Array) -> Array:
    centre_y, centre_x = rng.uniform(0, len(y), size=2)
    radius = rng.uniform(0.05, 0.3) * len(y)
    return _soft_step(radius - np.hypot(y - centre_y, x - centre_x))


def _bar(rng: Generator, y: Array, x: Array) -> Array:
    along, _ = _rotated(rng, y, x)
    middle = rng.uniform(along.min(), along.max())
    return _soft_step(rng.uniform(0.6, 0.08 * len(y)) - np.abs(along - middle))


def _box(rng: Generator, y: Array, x: Array) -> Array:
    along, across = _rotated(rng, y - rng.uniform(0, len(y)), x - rng.uniform(0, len(y)))
    half_a, half_b = rng.uniform(0.05, 0.3, size=2) * len(y)
    return _soft_step(np.minimum(half_a - np.abs(along), half_b - np.abs(across)))


def _rotated(rng: Generator, y: Array, x: Array) -> tuple[Array, Array]:
    angle = rng.uniform(0, np.pi)
    return np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x


def _soft_step(distance: Array) -> Array:
    # One pixel of ramp is what a camera's pixel area makes of a sharp edge.
    return np.clip(distance + 0.5, 0, 1)


def _pair(gt: Tensor, scale: int) -> Pair:
    lq = F.interpolate(gt.unsqueeze(0), scale_factor=1 / scale, mode="bicubic", antialias=True)
    return _eight_bit(lq.squeeze(0)), gt


def _eight_bit(image: Tensor) -> Tensor:
    return (image.clamp(0, 1) * 255).round() / 255


def _crop(pair: Pair, lq_size: int, rng: Generator) -> Pair:
    lq, gt = pair
    scale = gt.shape[-1] // lq.shape[-1]
    top, left = (int(rng.integers(side - lq_size + 1)) for side in lq.shape[-2:])
    lq = lq[:, top : top + lq_size, left : left + lq_size]
    top, left, size = top * scale, left * scale, lq_size * scale
    return lq, gt[:, top : top + size, left : left + size]


def _augment(pair: Pair, opt: TrainDataset, rng: Generator) -> Pair:
    flip, turns = rng.integers(2), int(rng.integers(4))
    lq, gt = pair
    if opt.use_hflip and flip:
        lq, gt = lq.flip(-1), gt.flip(-1)
    if opt.use_rot:
        lq, gt = lq.rot90(turns, (-2, -1)), gt.rot90(turns, (-2, -1))
    return lq, gt
