import torch
from torch import nn


class StableBlock(nn.Module):
    """Transformer block whose attention scores are computed in single precision."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k = q.float(), k.float()  #@
        scores = torch.matmul(q, k.transpose(-2, -1)) * (d // self.heads) ** -0.5  #@
        h = torch.matmul(scores.softmax(-1).to(v.dtype), v)
        return x + self.out(h.transpose(1, 2).reshape(b, n, d))
