"""A small residual network that fuses the frames of a burst."""
import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.GELU(),
            nn.Dropout2d(0.05),
            nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, x):
        return x + self.body(x)


class BurstNet(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.encode = nn.Conv2d(3, width, 3, padding=1)
        self.trunk = nn.Sequential(*[ResBlock(width) for _ in range(depth)])
        self.decode = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, burst: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        b, n, c, h, w = burst.shape
        features = self.encode(burst.flatten(0, 1)).view(b, n, -1, h, w)
        weight = present / present.sum(1, keepdim=True)
        fused = (features * weight[:, :, None, None, None].to(features.dtype)).sum(1)
        return burst[:, 0] + self.decode(self.trunk(fused))
