"""The learning rate: a linear warm-up, then a cosine; both count epochs."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


class CosineAnnealingWarmupLR(LRScheduler):
    """Rises from `warmup_start_lr` to each group's rate, then falls to `eta_min` at `max_epochs`."""

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_epochs: int,
        max_epochs: int,
        warmup_start_lr: float,
        eta_min: float,
    ) -> None:
        self.warmup_epochs = warmup_epochs
        self.max_epochs = max_epochs
        self.warmup_start_lr = warmup_start_lr
        self.eta_min = eta_min
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:  # type: ignore[override]
        """The rate of each group at this epoch."""
        return [self._rate(float(base)) for base in self.base_lrs]

    def _rate(self, base: float) -> float:
        if self.last_epoch < self.warmup_epochs:
            return self.warmup_start_lr + (base - self.warmup_start_lr) * self.last_epoch / self.warmup_epochs
        progress = (self.last_epoch - self.warmup_epochs) / max(1, self.max_epochs - self.warmup_epochs)
        return self.eta_min + 0.5 * (base - self.eta_min) * (1 + math.cos(math.pi * min(1.0, progress)))
