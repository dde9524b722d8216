import torch
import torch.nn as nn
import torch.nn.functional as F


class NormBase(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.gain * x / self.magnitude(x) #@


class RootMeanSquare(NormBase):
    def magnitude(self, x):
        return torch.sqrt(torch.mean(torch.square(x), -1, keepdim=True) + 1e-5) #@


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self.q_norm = RootMeanSquare(dim // heads) #@
        self.k_norm = RootMeanSquare(dim // heads) #@

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v) #@
        return x + self.proj(out.transpose(1, 2).reshape(b, n, d))
