import copy

import torch
from torch import nn


class ModelEMA:
    """Exponential moving average whose decay warms up with the number of updates."""

    def __init__(self, model: nn.Module, decay: float):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for ours, theirs in zip(self.module.state_dict().values(), model.state_dict().values()):
            if ours.dtype.is_floating_point:
                ours.lerp_(theirs, 1 - d)
            else:
                ours.copy_(theirs)

    def state_dict(self):
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.module.load_state_dict(state["module"])
        self.updates = state["updates"]
