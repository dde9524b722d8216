"""Pictures from .npz files, and the order in which they are drawn."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset, Sampler


class Pictures(Dataset):
    """Pictures of one split as float32 in [-1, 1], channels first."""

    def __init__(self, folder, split, max_images=0, hflip=False):
        raw = np.load(folder / f"{split}.npz")["images"]
        if max_images:
            raw = raw[:max_images]
        images = torch.from_numpy(raw).permute(0, 3, 1, 2).float()
        self.images = images / 127.5 - 1
        self.hflip = hflip

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        if self.hflip and torch.rand(()) < 0.5:
            image = image.flip(-1)
        return image


class EndlessSampler(Sampler):
    """Shuffled indices without end; `start` skips what an earlier part of the run has drawn."""

    def __init__(self, size, seed=0, start=0):
        self.size, self.seed, self.start = size, seed, start

    def __iter__(self):
        epoch, skip = divmod(self.start, self.size)
        while True:
            order = np.random.default_rng((self.seed, epoch)).permutation(self.size)
            yield from order[skip:].tolist()
            epoch, skip = epoch + 1, 0


def soften(images):
    """Pictures without their edges."""
    return F.avg_pool2d(F.pad(images, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
