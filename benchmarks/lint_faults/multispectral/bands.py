"""Sentinel-like tiles with ten bands and their land cover."""
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset

BAND_MEAN = torch.tensor([0.12, 0.11, 0.1, 0.14, 0.22, 0.26, 0.28, 0.27, 0.19, 0.13]).view(-1, 1, 1)
BAND_STD = torch.tensor([0.05, 0.05, 0.06, 0.05, 0.07, 0.08, 0.09, 0.09, 0.08, 0.07]).view(-1, 1, 1)
SCALE = 10000.0
NUM_BANDS = 10


def normalize(tile):
    """Reflectance in digital numbers to zero mean and unit deviation."""
    return (tile / SCALE - BAND_MEAN) / BAND_STD


class Tiles(Dataset):
    def __init__(self, count, size=32, seed=0, augment=False):
        self.count, self.size, self.seed, self.augment = count, size, seed, augment

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed + index)
        cover = F.interpolate(torch.rand(1, 1, 4, 4, generator=g), size=(self.size, self.size), mode="bilinear")[0, 0]
        cover = (cover * 3).long().clamp(max=2)
        response = torch.rand(3, NUM_BANDS, generator=torch.Generator().manual_seed(5)) * 0.3
        tile = response[cover].permute(2, 0, 1) + 0.03 * torch.randn(NUM_BANDS, self.size, self.size, generator=g)
        tile = normalize(tile.clamp(min=0) * SCALE)
        if self.augment and torch.rand(()) < 0.5:
            tile, cover = tile.flip(-1), cover.flip(-1)
        return tile, cover


class Panchromatic(Dataset):
    """Single-band tiles for a second stem of the network."""

    def __init__(self, count, size=32, seed=0):
        self.tiles = Tiles(count, size, seed)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, index):
        tile, cover = self.tiles[index]
        return tile.mean(0, keepdim=True), cover
