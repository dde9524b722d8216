"""Pairs of sharp and motion-blurred images, drawn by program. Tensors are CHW in [0, 1]."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.random import Generator
from torch import Tensor
from torch.utils.data import Dataset

Pair = tuple[Tensor, Tensor]  # (blurred, sharp)

SHAPES_PER_IMAGE = 8
SHORTEST_BLUR, LONGEST_BLUR = 5, 9  # pixels; the longest is odd, so that the kernel has a middle
TILT = 0.2  # radians


class DrawnPairs(Dataset[Pair]):
    """Whole pairs, always in the same order."""

    def __init__(self, images: int, image_size: int, seed: int) -> None:
        self.pairs = [draw_pair(seed + index, image_size) for index in range(images)]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> Pair:
        return self.pairs[index]


class RandomCrops(Dataset[Pair]):
    """As many crops as an epoch has; where they lie depends on the seed and the epoch alone."""

    def __init__(self, pairs: DrawnPairs, crop_size: int, crops_per_epoch: int, seed: int) -> None:
        self.pairs = pairs
        self.crop_size = crop_size
        self.crops_per_epoch = crops_per_epoch
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return self.crops_per_epoch

    def __getitem__(self, index: int) -> Pair:
        rng = np.random.default_rng((self.seed, self.epoch, index))
        blurred, sharp = self.pairs[int(rng.integers(len(self.pairs)))]
        top, left = (int(rng.integers(side - self.crop_size + 1)) for side in sharp.shape[-2:])
        rows, columns = slice(top, top + self.crop_size), slice(left, left + self.crop_size)
        return blurred[:, rows, columns], sharp[:, rows, columns]

    def set_epoch(self, epoch: int) -> None:
        """Choose the crops of `epoch`."""
        self.epoch = epoch


def draw_pair(seed: int, size: int) -> Pair:
    """Draw one sharp image and blur it by a motion of its own."""
    rng = np.random.default_rng(seed)
    sharp = _draw(rng, size)
    margin = LONGEST_BLUR // 2
    padded = F.pad(sharp[None], (margin,) * 4, mode="reflect")
    kernel = _motion(rng).expand(3, 1, -1, -1)
    return F.conv2d(padded, kernel, groups=3)[0], sharp


def _draw(rng: Generator, size: int) -> Tensor:
    y, x = np.mgrid[0:size, 0:size] / size
    canvas = np.ones((3, size, size)) * rng.uniform(0.2, 0.8, size=(3, 1, 1))
    for _ in range(SHAPES_PER_IMAGE):
        angle = rng.uniform(0, np.pi)
        along = np.cos(angle) * (x - rng.uniform(0, 1)) + np.sin(angle) * (y - rng.uniform(0, 1))
        across = np.cos(angle) * (y - rng.uniform(0, 1)) - np.sin(angle) * (x - rng.uniform(0, 1))
        inside = (np.abs(along) < rng.uniform(0.03, 0.3)) & (np.abs(across) < rng.uniform(0.05, 0.4))
        stripes = 0.15 * np.sin(2 * np.pi * along * rng.uniform(2, 12))
        canvas = np.where(inside, rng.uniform(0.1, 0.9, size=(3, 1, 1)) + stripes, canvas)
    return torch.from_numpy(np.clip(canvas, 0, 1)).float()


def _motion(rng: Generator) -> Tensor:
    # A straight line through the middle, with soft ends: a camera that shakes sideways.
    angle, length = rng.uniform(-TILT, TILT), rng.uniform(SHORTEST_BLUR, LONGEST_BLUR)
    y, x = np.mgrid[0:LONGEST_BLUR, 0:LONGEST_BLUR] - LONGEST_BLUR // 2
    along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    kernel = np.clip(length / 2 - np.abs(along) + 0.5, 0, 1) * np.clip(1 - np.abs(across), 0, 1)
    return torch.from_numpy(kernel / kernel.sum()).float()
