"""Measured springs as tensors, and the share of them that a process is given."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

# mass [kg], stiffness [N/m], damping [kg/s], place [m], speed [m/s], time [s]
LOW = torch.tensor([0.5, 1.0, 0.05, -1.0, -1.0, 0.0])
HIGH = torch.tensor([2.0, 6.0, 0.8, 1.0, 1.0, 3.0])
# place [m], speed [m/s]
SCALE = torch.tensor([0.5, 0.9])


def normalise(inputs):
    """Every input between -1 and 1."""
    return 2.0 * (inputs - LOW) / (HIGH - LOW) - 1.0


def load(folder, split):
    """Normalised inputs, scaled targets, and the inputs in their units."""
    arrays = np.load(Path(folder) / f"{split}.npz")
    raw = torch.from_numpy(arrays["inputs"])
    return TensorDataset(normalise(raw), torch.from_numpy(arrays["targets"]) / SCALE, raw)


class TrainingBatches:
    """The batches of one process, epoch after epoch; it can be wound on to any update."""

    def __init__(self, data, settings, seed, world):
        self.sampler = DistributedSampler(
            data, world.size, world.rank, shuffle=settings.shuffle, seed=seed, drop_last=True
        )
        self.loader = DataLoader(
            data, settings.batch // world.size, sampler=self.sampler, drop_last=True, num_workers=0
        )

    def beginning_at(self, update):
        """Every batch from that of an update on."""
        epoch, skipped = divmod(update, len(self.loader))
        while True:
            self.sampler.set_epoch(epoch)
            for number, batch in enumerate(self.loader):
                if number >= skipped:
                    yield batch
            epoch, skipped = epoch + 1, 0


def validation_batches(data, world):
    """Every so-manieth validation spring."""
    mine = range(world.rank, len(data), world.size)
    return DataLoader(torch.utils.data.Subset(data, mine), 256)
