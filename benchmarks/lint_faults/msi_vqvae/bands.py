"""Six-band satellite tiles, brought to [-1, 1]."""
import numpy as np
import torch
from torch.utils.data import Dataset

N_BANDS = 6
REFLECTANCE_MAX = 10000.0


def read_tile(index, size=24):
    """Stands in for reading a GeoTIFF: uint16 reflectances of all bands."""
    rng = np.random.default_rng(index)
    y, x = np.mgrid[0:size, 0:size] / size
    tile = [
        0.5 + 0.4 * np.sin(2 * np.pi * (rng.uniform(0, 3) * x + rng.uniform(0, 3) * y) + band)
        for band in range(N_BANDS)
    ]
    return (np.stack(tile) * REFLECTANCE_MAX).astype(np.uint16)


class Tiles(Dataset):
    def __init__(self, indices, augment=False):
        self.indices, self.augment = list(indices), augment

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        bands = torch.from_numpy(read_tile(self.indices[i]).astype("float32")) / REFLECTANCE_MAX
        if self.augment:
            bands = torch.rot90(bands, int(torch.randint(4, ())), dims=(1, 2))
        return bands * 2 - 1
