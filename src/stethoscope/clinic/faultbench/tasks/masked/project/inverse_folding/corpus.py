"""Proteins in memory, and batches of them in an order that can be kept."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PAD, MASK, FIRST_RESIDUE = 0, 1, 2
VOCABULARY = 22
SHORT = 16


@dataclass
class Proteins:
    """Sequences [n, length] with what is known about every residue of them."""

    tokens: Tensor
    real: Tensor  # False where a sequence is padded
    exposure: Tensor
    b_factor: Tensor

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, chosen):
        return Proteins(self.tokens[chosen], self.real[chosen], self.exposure[chosen], self.b_factor[chosen])


def load_proteins(split, limit=0):
    """Read a split and scale what is measured in percent or square angstroms."""
    arrays = np.load(f"data/{split}.npz")
    tokens = torch.from_numpy(arrays["tokens"]).long()
    length = torch.from_numpy(arrays["length"])
    real = torch.arange(tokens.shape[1]) < length[:, None]
    exposure = (torch.from_numpy(arrays["exposure"]).float() - 50.0) / 30.0
    b_factor = (torch.from_numpy(arrays["b_factor"]).float() - 25.0) / 8.0
    proteins = Proteins(tokens, real, exposure, b_factor)
    return proteins[:limit] if limit else proteins


class BatchStream:
    """Batch after batch without end, in a new order for every epoch."""

    def __init__(self, proteins, batch_size, shuffle, seed):
        self.proteins, self.shuffle = proteins, shuffle
        self.batch_size = min(batch_size, len(proteins))
        self.generator = torch.Generator().manual_seed(seed)
        self.order, self.cursor = self._new_order(), 0

    def _new_order(self):
        if self.shuffle:
            return torch.randperm(len(self.proteins), generator=self.generator)
        return torch.arange(len(self.proteins))

    def next_batch(self, only_short=False):
        if self.cursor + self.batch_size > len(self.proteins):
            self.order, self.cursor = self._new_order(), 0
        chosen = self.order[self.cursor : self.cursor + self.batch_size]
        self.cursor += self.batch_size
        if only_short:
            short = self.proteins.real[chosen].sum(1) <= SHORT
            chosen = chosen[short] if short.any() else chosen
        return self.proteins[chosen]

    def state_dict(self):
        return {"order": self.order, "cursor": self.cursor, "generator": self.generator.get_state()}

    def load_state_dict(self, state):
        self.order, self.cursor = state["order"], state["cursor"]
        self.generator.set_state(state["generator"])
