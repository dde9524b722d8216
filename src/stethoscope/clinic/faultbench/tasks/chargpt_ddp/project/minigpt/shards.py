"""Every rank reads lines of its own."""

import numpy as np
import torch


class Shard:
    """The lines of one rank, in another order each epoch.

    The batch of a step depends on the step alone, so that a resumed run reads on where it was.
    """

    def __init__(self, file: str, rank: int, world: int, batch: int, seed: int):
        self.lines = torch.from_numpy(np.load(file)["tokens"].astype(np.int64))
        self.rank, self.world, self.batch, self.seed = rank, world, batch, seed
        self.per_epoch = len(self.lines) // (batch * world)

    def at(self, index: int):
        """Inputs and what follows for the batch of this number."""
        epoch, place = divmod(index, self.per_epoch)
        generator = torch.Generator().manual_seed(1000 * self.seed + epoch)
        order = torch.randperm(len(self.lines), generator=generator)
        mine = order[self.rank :: self.world]
        lines = self.lines[mine[place * self.batch : (place + 1) * self.batch]]
        return lines[:, :-1], lines[:, 1:]
