from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn


class EMA:
    """Average of the weights; the decay grows with the number of updates."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.module = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for avg, p in zip(self.module.parameters(), model.parameters()):
            avg.lerp_(p, 1 - d)
        for avg, b in zip(self.module.buffers(), model.buffers()):
            avg.copy_(b)

    def state_dict(self) -> dict[str, Any]:
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["module"])
        self.updates = state["updates"]
