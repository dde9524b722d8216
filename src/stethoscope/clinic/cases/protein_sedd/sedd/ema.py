"""A moving average of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


class ExponentialMovingAverage:
    """Follows a model; its horizon grows with the number of updates, up to what `decay` gives."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        self.shadow = [parameter.detach().clone() for parameter in model.parameters()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move the average towards the weights of `model`."""
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for average, parameter in zip(self.shadow, model.parameters(), strict=True):
            average.lerp_(parameter, 1 - decay)

    @contextmanager
    def applied_to(self, model: nn.Module) -> Iterator[None]:
        """Let `model` have the averaged weights for a while."""
        kept = [parameter.detach().clone() for parameter in model.parameters()]
        self.copy_to(model)
        try:
            yield
        finally:
            _copy(kept, model)

    def copy_to(self, model: nn.Module) -> None:
        """Give `model` the averaged weights."""
        _copy(self.shadow, model)

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on."""
        return {"updates": self.updates, "shadow": self.shadow}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.updates = state["updates"]
        self.shadow = list(state["shadow"])


@torch.no_grad()
def _copy(values: list[torch.Tensor], model: nn.Module) -> None:
    for parameter, value in zip(model.parameters(), values, strict=True):
        parameter.copy_(value)
