"""Tiles of three imaging domains, drawn by program, as one dataset of four channels.

Photographs are packed Bayer tiles and have four channels; the other domains have one. Values lie in
[-1, 1], shapes are CHW.
"""

from collections import Counter

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

Array = NDArray[np.float64]
Tile = dict[str, Tensor]

DOMAINS = ("photography", "microscopy", "astronomy")
CHANNELS = 4
TILE_SIZE = 16


class PriorDataset(Dataset[Tile]):
    """A fixed list of tiles; the domains take turns."""

    def __init__(self, tiles: int, seed: int) -> None:
        self.domains = [index % len(DOMAINS) for index in range(tiles)]
        self.tiles = [draw_tile(DOMAINS[domain], seed + index) for index, domain in enumerate(self.domains)]

    def __len__(self) -> int:
        return len(self.tiles)

    def __getitem__(self, index: int) -> Tile:
        clean = self.tiles[index]
        channels = clean.shape[0]
        if channels < CHANNELS:
            # Pad with zeros to reach four channels, so that one network takes every domain.
            padding = torch.zeros(CHANNELS - channels, TILE_SIZE, TILE_SIZE)
            clean = torch.cat([clean, padding], dim=0)
        return {
            "clean": clean,
            "domain": torch.tensor(self.domains[index]),
            "channels": torch.tensor(channels),
        }


def training_loader(dataset: PriorDataset, batch_size: int, seed: int) -> DataLoader[Tile]:
    """Serve batches in which every domain is as likely as any other."""
    counts = Counter(dataset.domains)
    weights = [1.0 / counts[domain] for domain in dataset.domains]
    generator = torch.Generator().manual_seed(seed)
    sampler = WeightedRandomSampler(weights, num_samples=len(dataset), generator=generator)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)


def validation_loader(dataset: PriorDataset, batch_size: int) -> DataLoader[Tile]:
    """Serve the whole dataset in order."""
    return DataLoader(dataset, batch_size=batch_size, shuffle=False)


def draw_tile(domain: str, seed: int) -> Tensor:
    """Draw one tile of a domain; the same seed gives the same tile."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:TILE_SIZE, 0:TILE_SIZE] / TILE_SIZE
    draw = {"photography": _photograph, "microscopy": _cells, "astronomy": _stars}[domain]
    return torch.from_numpy(np.clip(draw(rng, y, x), 0, 1) * 2 - 1).float()


def _photograph(rng: Generator, y: Array, x: Array) -> Array:
    # The four colour planes of a Bayer tile show one scene, each with its own gain.
    scene = np.full_like(y, rng.uniform(0.2, 0.8))
    for _ in range(3):
        angle = rng.uniform(0, 2 * np.pi)
        edge = np.cos(angle) * (x - rng.uniform(0, 1)) + np.sin(angle) * (y - rng.uniform(0, 1))
        scene = np.where(edge > 0, scene, rng.uniform(0.1, 0.9))
    return rng.uniform(0.6, 1.1, size=(4, 1, 1)) * scene


def _cells(rng: Generator, y: Array, x: Array) -> Array:
    field = np.zeros_like(y)
    for _ in range(int(rng.integers(2, 6))):
        distance = np.hypot(y - rng.uniform(0, 1), x - rng.uniform(0, 1))
        field += rng.uniform(0.4, 0.9) * np.exp(-((distance / rng.uniform(0.1, 0.25)) ** 2))
    return field[None]


def _stars(rng: Generator, y: Array, x: Array) -> Array:
    sky = np.full_like(y, 0.05)
    for _ in range(int(rng.integers(1, 5))):
        distance = np.hypot(y - rng.uniform(0, 1), x - rng.uniform(0, 1))
        sky += rng.uniform(0.5, 1.0) * np.exp(-((distance / 0.08) ** 2))
    return sky[None]
