"""Random windows of a token stream. The batch of a step follows from its number, so a resumed run goes on exactly."""
from __future__ import annotations

import torch

MASK, FIRST = 1, 2  # 0 stays unused


class Windows:
    def __init__(self, vocab: int, batch_size: int, seed: int, size: int = 20_000) -> None:
        g = torch.Generator().manual_seed(seed)
        jumps = torch.randint(1, 4, (size,), generator=g)
        self.stream = FIRST + jumps.cumsum(0) % (vocab - FIRST)
        self.vocab, self.batch_size, self.seed = vocab, batch_size, seed

    def batch(self, key: tuple[int, ...], length: int, ratio: float) -> tuple[torch.Tensor, torch.Tensor]:
        g = torch.Generator().manual_seed(hash((self.seed, *key)) % 2**63)
        starts = torch.randint(0, len(self.stream) - length, (self.batch_size,), generator=g)
        ids = self.stream[starts[:, None] + torch.arange(length)]
        chosen = torch.rand(ids.shape, generator=g) < ratio
        chosen[:, 0] |= ~chosen.any(1)
        labels = ids.masked_fill(~chosen, -100)
        kind = torch.rand(ids.shape, generator=g)
        other = torch.randint(FIRST, self.vocab, ids.shape, generator=g)
        inputs = torch.where(chosen & (kind < 0.8), MASK, ids)
        inputs = torch.where(chosen & (kind >= 0.9), other, inputs)
        return inputs, labels
