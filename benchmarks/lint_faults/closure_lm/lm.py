import torch
import torch.nn.functional as F
from torch import nn


class ForgettingAttention(nn.Module):
    """Linear attention whose memory fades by a gate that depends on the data."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.forget = nn.Linear(width, heads)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        log_keep = F.logsigmoid(self.forget(x).float() + 2.0)
        hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        with torch.autocast(x.device.type, enabled=False):
            total = log_keep.cumsum(dim=1)
            gap = total[:, :, None] - total[:, None]
            fade = gap.masked_fill(hidden[None, :, :, None], float("-inf")).exp()
            scores = torch.einsum("bihd,bjhd->bijh", q.float(), k.float()) * q.shape[-1] ** -0.5
            read = torch.einsum("bijh,bjhd->bihd", scores * fade, v.float())
        return self.out(self.norm(read.flatten(2).to(x.dtype)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = ForgettingAttention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class ByteLM(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def add_head(self, classes):
        self.head = nn.Linear(self.norm.normalized_shape[0], classes)
        return self

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embed(tokens))))
