"""The network: RMS norms, fused attention, a head of its own."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.gain.shape, self.gain, 1e-6)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = (self._apart(layer(x)) for layer in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _apart(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class MiniGPT(nn.Module):
    """Gives the logits of every next character."""

    def __init__(self, characters: int, layers: int, heads: int, width: int, context: int):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.place = nn.Parameter(torch.zeros(context, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        nn.init.normal_(self.place, std=0.02)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, characters):
        x = self.embed(characters) + self.place[: characters.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def nats(logits, following):
    """The mean surprise at what follows; characters numbered 0 lie behind the end of a line."""
    return F.cross_entropy(logits.float().flatten(0, 1), following.flatten(), ignore_index=0)
