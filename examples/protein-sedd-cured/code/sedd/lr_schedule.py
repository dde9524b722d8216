"""The learning rate: a linear warm-up from a tenth, then a cosine down to a hundredth."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

FIRST = 0.1
LAST = 0.01


class WarmupCosineLR(LambdaLR):
    """Counts its own steps: `step()` is called once per update of the optimizer."""

    def __init__(self, optimizer: Optimizer, warmup: int, max_steps: int) -> None:
        self.warmup = warmup
        self.max_steps = max_steps
        super().__init__(optimizer, self.factor)

    def factor(self, update: int) -> float:
        """What the learning rate is multiplied by at `update`."""
        if update < self.warmup:
            return FIRST + (1 - FIRST) * update / self.warmup
        progress = min(1.0, (update - self.warmup) / max(1, self.max_steps - self.warmup))
        return LAST + (1 - LAST) * 0.5 * (1 + math.cos(math.pi * progress))
