"""A small transformer without normalisation."""

from __future__ import annotations

from torch import Tensor, nn


class Attention(nn.Module):
    """Every sample looks at all others."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Mix the samples of each bell."""
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Refine what is known of each sample."""
        x = x + self.attention(x)
        refined: Tensor = x + self.feed_forward(x)
        return refined


class BellReader(nn.Module):
    """Frequency and damping of a bell from its samples."""

    def __init__(self, width: int, heads: int, blocks: int) -> None:
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.leave = nn.Linear(width, 2)

    def forward(self, samples: Tensor) -> Tensor:
        """Two numbers for each bell; `samples` is batch x samples x (time, value)."""
        told: Tensor = self.leave(self.blocks(self.enter(samples)).mean(1))
        return told
