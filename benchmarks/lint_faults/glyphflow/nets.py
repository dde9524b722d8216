import copy
import math

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.null_label = classes
        self.width = width
        self.labels = nn.Embedding(classes + 1, 4 * width)
        self.time = nn.Sequential(nn.Linear(2 * width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.stem = nn.Conv2d(1, 2 * width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "norm": nn.GroupNorm(4, 2 * width),
                "conv": nn.Conv2d(2 * width, 2 * width, 3, padding=d, dilation=d),
                "film": nn.Linear(4 * width, 4 * width),
            })
            for d in (1, 2, 4)
        )
        self.out = nn.Conv2d(2 * width, 1, 3, padding=1)

    def clock(self, t):
        freqs = torch.exp(-math.log(1000.0) * torch.arange(self.width, device=t.device) / self.width)
        angles = t.float()[:, None] * freqs
        return torch.cat([angles.sin(), angles.cos()], 1)

    def forward(self, x, t, labels):
        cond = self.time(self.clock(t)) + self.labels(labels)
        h = self.stem(x)
        for b in self.blocks:
            scale, shift = b["film"](cond)[:, :, None, None].chunk(2, 1)
            h = h + b["conv"](nn.functional.silu(b["norm"](h) * (1 + scale) + shift))
        return self.out(h)


class Ema:
    """A running mean of the weights; the mean is short at first and grows to its full length."""

    def __init__(self, net, decay):
        self.net = copy.deepcopy(net).eval().requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, net):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for mean, new in zip(self.net.parameters(), net.parameters()):
            mean.lerp_(new.detach().float(), 1 - decay)

    def state_dict(self):
        return {"net": self.net.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.net.load_state_dict(state["net"])
        self.updates = state["updates"]
