"""Small networks, healthy and sick, for tests that call them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """A linear layer, batch statistics and dropout: calling it changes buffers and draws numbers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        """Layer, norm, dropout."""
        out: Tensor = self.drop(self.norm(self.fc(x)))
        return out


class Net(nn.Module):
    """Two blocks and a head; it counts its calls in a plain attribute."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(width, 1))
        self.calls = 0
        self.seen: list[int] = []

    def forward(self, x: Tensor, scale: float = 1.0) -> dict[str, Any]:
        """The prediction, in a dict, as models of libraries give it."""
        self.calls += 1
        self.seen.append(len(x))
        for block in self.blocks:
            x = block(x)
        return {"prediction": self.head(x) * scale, "hidden": (x,)}


class Overflowing(nn.Module):
    """Exceeds float16, not float32, in `second`."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        with torch.no_grad():
            self.second.weight.fill_(3e4)

    def forward(self, x: Tensor) -> Tensor:
        """Three layers."""
        out: Tensor = self.norm(self.second(self.first(x).abs() + 1))
        return out


class Rooted(nn.Module):
    """Takes the root of its hidden values, of which some are exactly 0: finite forwards, NaN backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The root of what a ReLU leaves."""
        out: Tensor = self.head(torch.sqrt(torch.relu(self.first(x)) * 0))
        return out
