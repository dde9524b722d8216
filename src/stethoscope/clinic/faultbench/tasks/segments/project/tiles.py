"""Tiles, their masks, and what is done to them on the way to the network."""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Subset

CLASSES = ("background", "cell", "nucleus", "fibre")
VOID = 255
MEAN, STD = 0.5, 0.2
CLEAN_SLIDES = 3


def augment(tile, mask, aug, grain):
    """Flip, turn, make brighter or darker, add grain. `tile` is scaled already."""
    if aug["flip"] and torch.rand(()) < 0.5:
        tile, mask = tile.flip(-1), mask.flip(-1)
    if aug["turn"]:
        k = int(torch.randint(4, ()))
        tile, mask = torch.rot90(tile, k, (-2, -1)), torch.rot90(mask, k, (-2, -1))
    if aug["gain"]:
        tile = tile * (1.0 + aug["gain"] * (2.0 * torch.rand(()) - 1.0))
    if grain:
        tile = tile + grain * torch.randn_like(tile)
    return tile, mask


class TileSet(Dataset):
    """(tile [1, h, w] float, mask [h, w] long) pairs of one split; augmented where `aug` is given."""

    def __init__(self, root, split, aug=None, limit=0):
        with np.load(os.path.join(root, f"{split}.npz")) as arrays:
            tiles, masks, self.slides = arrays["tile"], arrays["mask"], arrays["slide"]
        n = limit or len(tiles)
        self.tiles = torch.from_numpy(tiles[:n]).float().unsqueeze(1) / 255.0
        self.masks = torch.from_numpy(masks[:n]).long()
        self.aug = aug
        self.grain = aug["grain"] if aug else 0.0

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        tile, mask = self.tiles[i], self.masks[i]
        tile = (tile - MEAN) / STD
        if self.aug:
            tile, mask = augment(tile, mask, self.aug, self.grain)
        return tile, mask

    def clean(self):
        """Indices of tiles from slides that were scanned cleanly."""
        return np.flatnonzero(self.slides[: len(self)] < CLEAN_SLIDES).tolist()


def make_loaders(exp, seed):
    """Loaders of all training tiles, of the clean ones, and of the validation tiles."""
    cfg = exp["data"]
    train = TileSet(cfg["root"], "train", aug=exp["augment"], limit=cfg["limit"])
    val = TileSet(cfg["root"], "val")
    order = torch.Generator().manual_seed(seed)

    def training(tiles):
        batch = min(cfg["batch"], len(tiles))
        return DataLoader(
            tiles, batch_size=batch, shuffle=cfg["shuffle"], drop_last=True, num_workers=0, generator=order
        )

    return training(train), training(Subset(train, train.clean())), DataLoader(val, batch_size=24)
