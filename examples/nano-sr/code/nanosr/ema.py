"""A moving average of the network's weights, for validation and for the finished model."""

import copy

import torch
from torch import nn


class ExponentialMovingAverage:
    """Follows a network; the average is short at first and lengthens to `decay`."""

    def __init__(self, network: nn.Module, decay: float, power: float) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.decay = decay
        self.power = power
        self.step = 0

    def current_decay(self) -> float:
        """Return the decay at this step: 0 at the start, `decay` in the long run."""
        warm: float = 1 - (1 + max(self.step - 1, 0)) ** -self.power
        return min(max(warm, 0.0), self.decay)

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move the average one step towards `network`."""
        self.step += 1
        keep = self.current_decay()
        for average, value in zip(self.network.parameters(), network.parameters(), strict=True):
            average.lerp_(value, 1 - keep)
