import torch
from torch import nn

from basic.registry import ARCH_REGISTRY


class SimpleGate(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return a * b


class GateBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.depth = nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width)
        self.gate = SimpleGate()
        self.project = nn.Conv2d(width, width, 1)
        self.scale = nn.Parameter(torch.full((1, width, 1, 1), 0.1))

    def forward(self, x):
        return x + self.scale * self.project(self.gate(self.depth(self.expand(x))))


@ARCH_REGISTRY.register()
class BurstGateNet(nn.Module):
    """(b, frames, h, w) -> (b, 1, h, w), a correction of the mean frame"""

    def __init__(self, frames, width, blocks):
        super().__init__()
        self.intro = nn.Conv2d(frames, width, 3, padding=1)
        self.body = nn.Sequential(*[GateBlock(width) for _ in range(blocks)])
        self.ending = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, burst):
        return burst.mean(1, keepdim=True) + self.ending(self.body(self.intro(burst)))
