"""A character model: the next letter from the last few."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class NextLetter(nn.Module):
    """Looks up the last `context` letters, side by side, and passes them through two layers."""

    def __init__(self, letters: int, context: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.context = context
        self.embed = nn.Embedding(letters, embedding)
        self.layers = nn.Sequential(
            nn.Linear(context * embedding, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, letters),
        )

    def forward(self, before: Tensor) -> Tensor:
        """Scores of the letters that may follow; `before` is a batch of rows of `context` letters."""
        scores: Tensor = self.layers(self.embed(before).flatten(1))
        return scores


def windows(letters: Tensor, ends: Tensor, context: int) -> tuple[Tensor, Tensor]:
    """The `context` letters before each of `ends`, and the letters there."""
    offsets = torch.arange(-context, 0)
    return letters[ends.unsqueeze(1) + offsets], letters[ends]
