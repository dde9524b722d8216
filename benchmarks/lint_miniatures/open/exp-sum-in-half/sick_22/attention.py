import torch
from torch import nn


class HalfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).half()  #@
        weights = torch.exp(q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5)  #@
        weights = weights / weights.sum(-1, keepdim=True)  #@
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d).float())


class Encoder(nn.Module):
    def __init__(self, dim=128, heads=4, depth=3, channels=21, length=256, classes=6):
        super().__init__()
        self.embed = nn.Linear(channels, dim)
        self.position = nn.Parameter(torch.randn(length, dim) * 0.02)
        self.layers = nn.ModuleList(HalfAttention(dim, heads) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x) + self.position[: x.shape[1]]
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x.mean(1))
