"""Measured springs as tensors, and the stream of batches they are trained with."""

from pathlib import Path

import numpy as np
import torch

# mass [kg], stiffness [N/m], damping [kg/s], place [m], speed [m/s], time [s]
LOW = torch.tensor([0.5, 1.0, 0.05, -1.0, -1.0, 0.0])
HIGH = torch.tensor([2.0, 6.0, 0.8, 1.0, 1.0, 3.0])
# place [m], speed [m/s]
SCALE = torch.tensor([0.5, 0.9])


def normalise(inputs):
    """Every input between -1 and 1."""
    return 2.0 * (inputs - LOW) / (HIGH - LOW) - 1.0


class SpringData:
    def __init__(self, folder, split, limit=0):
        arrays = np.load(Path(folder) / f"{split}.npz")
        raw = torch.from_numpy(arrays["inputs"])
        targets = torch.from_numpy(arrays["targets"])
        if limit:
            raw, targets = raw[:limit], targets[:limit]
        self.raw = raw
        self.inputs = normalise(raw)
        self.targets = targets / SCALE

    def __len__(self):
        return len(self.inputs)

    def at(self, index):
        return self.inputs[index], self.targets[index], self.raw[index]

    def batches(self, size):
        for start in range(0, len(self), size):
            yield self.at(slice(start, start + size))


class BatchStream:
    """Batch after batch, in another order every epoch; it can be saved and restored."""

    def __init__(self, data, size, shuffle, seed, ramp=0):
        self.data, self.size, self.shuffle, self.ramp = data, size, shuffle, ramp
        self.generator = torch.Generator().manual_seed(seed)
        self.waiting = torch.empty(0, dtype=torch.long)
        self.drawn = 0

    def new_order(self):
        if self.shuffle:
            return torch.randperm(len(self.data), generator=self.generator)
        return torch.arange(len(self.data))

    def next(self):
        while len(self.waiting) < self.size:
            order = self.new_order()
            if self.ramp:
                order = order[self.data.raw[order, 5] <= self.latest()]
            self.waiting = torch.cat([self.waiting, order])
        chosen, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        self.drawn += 1
        return self.data.at(chosen)

    def latest(self):
        """The latest time of an epoch: it grows from a fifth to all of it."""
        return float(HIGH[5]) * min(1.0, 0.2 + 0.8 * self.drawn / self.ramp)

    def state_dict(self):
        return {"waiting": self.waiting, "drawn": self.drawn, "generator": self.generator.get_state()}

    def load_state_dict(self, state):
        self.waiting, self.drawn = state["waiting"], state["drawn"]
        self.generator.set_state(state["generator"])
