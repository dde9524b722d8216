import math

import torch
from torch import nn

from text import PAD


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len=256):
        super().__init__()
        pos = torch.arange(max_len)[:, None]
        freq = torch.exp(-math.log(10000.0) * torch.arange(0, dim, 2) / dim)
        table = torch.zeros(max_len, dim)
        table[:, 0::2], table[:, 1::2] = torch.sin(pos * freq), torch.cos(pos * freq)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Translator(nn.Module):
    def __init__(self, vocab, dim, heads, layers, ff, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = PositionalEncoding(dim)
        self.drop = nn.Dropout(dropout)
        self.core = nn.Transformer(dim, heads, layers, layers, ff, dropout, batch_first=True)
        self.project = nn.Linear(dim, vocab)
        self.scale = dim**0.5

    def _in(self, ids):
        return self.drop(self.pos(self.embed(ids) * self.scale))

    def forward(self, src, tgt):
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        out = self.core(
            self._in(src),
            self._in(tgt),
            tgt_mask=causal,
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.project(out)
