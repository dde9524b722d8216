"""A residual MLP with layer norm in front of its blocks, or behind them."""

import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, width, norm, dropout):
        super().__init__()
        self.placed = norm
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def branch(self, x):
        return self.dropout(self.narrow(F.silu(self.widen(x))))

    def forward(self, x):
        if self.placed == "pre":
            return x + self.branch(self.norm(x))
        return self.norm(x + self.branch(x))


class SpringNet(nn.Module):
    """Six numbers of a spring in, its place and speed out."""

    def __init__(self, width=64, blocks=3, norm="pre", dropout=0.0):
        super().__init__()
        self.stem = nn.Linear(6, width)
        self.blocks = nn.ModuleList([ResidualBlock(width, norm, dropout) for _ in range(blocks)])
        self.head = nn.Linear(width, 2)

    def forward(self, inputs):
        x = F.silu(self.stem(inputs))
        for block in self.blocks:
            x = block(x)
        return self.head(x)
