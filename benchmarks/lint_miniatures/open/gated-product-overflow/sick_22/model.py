import torch
from torch import nn


class BilinearGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden, bias=False)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(self.up(x) * torch.relu(self.gate(x)).square())  #@


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = BilinearGLU(dim, 4 * dim)

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ChessLM(nn.Module):
    def __init__(self, vocab=2048, dim=384, heads=6, depth=8, length=128):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.full((n, n), float("-inf"), device=ids.device).triu(1)
        x = self.tok(ids) + self.pos(torch.arange(n, device=ids.device))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)
