"""An encoder-decoder of attention and feed-forward layers."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kalends.recipe import Model
from kalends.vocabulary import FILL, LONGEST, MANNERS, SPOKEN_SIZE, WRITTEN_SIZE


class Attention(nn.Module):
    """Several heads; `visible` is True wherever a query may look."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.merge = nn.Linear(dim, dim)

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        q = self.split_heads(self.query(x))
        k, v = map(self.split_heads, self.key_value(memory).chunk(2, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        scores = scores.float().masked_fill(~visible, float("-inf"))
        mixed = scores.softmax(dim=-1).to(v.dtype) @ v
        return self.merge(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim: int, inner: int):
        super().__init__()
        self.expand = nn.Linear(dim, inner)
        self.contract = nn.Linear(inner, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(x)))


class Sublayer(nn.Module):
    """A residual connection around something, with the norm before or after it."""

    def __init__(self, inside: nn.Module, model: Model):
        super().__init__()
        self.inside = inside
        self.norm = nn.LayerNorm(model.dim)
        self.dropout = nn.Dropout(model.dropout)
        self.before = model.norm == "before"

    def forward(self, x: Tensor, *more: Tensor) -> Tensor:
        if self.before:
            return x + self.dropout(self.inside(self.norm(x), *more))
        return self.norm(x + self.dropout(self.inside(x, *more)))


class SelfAttention(Attention):
    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        return super().forward(x, x, visible)


class EncoderLayer(nn.Module):
    def __init__(self, model: Model):
        super().__init__()
        self.look_around = Sublayer(SelfAttention(model.dim, model.heads), model)
        self.think = Sublayer(FeedForward(model.dim, model.inner), model)

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        return self.think(self.look_around(x, visible))


class DecoderLayer(nn.Module):
    def __init__(self, model: Model):
        super().__init__()
        self.look_back = Sublayer(SelfAttention(model.dim, model.heads), model)
        self.consult = Sublayer(Attention(model.dim, model.heads), model)
        self.think = Sublayer(FeedForward(model.dim, model.inner), model)

    def forward(self, x: Tensor, past: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        x = self.look_back(x, past)
        x = self.consult(x, memory, visible)
        return self.think(x)


class Embedding(nn.Module):
    """What stands where: a token and its place."""

    def __init__(self, size: int, model: Model):
        super().__init__()
        self.tokens = nn.Embedding(size, model.dim, padding_idx=FILL)
        self.places = nn.Embedding(LONGEST, model.dim)
        self.dropout = nn.Dropout(model.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.dropout(self.tokens(tokens) + self.places(places))


class Translator(nn.Module):
    def __init__(self, model: Model):
        super().__init__()
        self.source = Embedding(SPOKEN_SIZE, model)
        self.target = Embedding(WRITTEN_SIZE, model)
        self.encoder = nn.ModuleList(EncoderLayer(model) for _ in range(model.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(model) for _ in range(model.decoder_layers))
        self.memory_norm = nn.LayerNorm(model.dim)
        self.final_norm = nn.LayerNorm(model.dim)
        self.speak = nn.Linear(model.dim, WRITTEN_SIZE)
        self.manner = nn.Linear(model.dim, MANNERS)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.3)

    def encode(self, spoken: Tensor) -> tuple[Tensor, Tensor]:
        """What was understood of each word, and which places hold a word at all."""
        visible = (spoken != FILL)[:, None, None, :]
        x = self.source(spoken)
        for layer in self.encoder:
            x = layer(x, visible)
        return self.memory_norm(x), visible

    def decode(self, given: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        """Logits of what follows each mark that was given."""
        length = given.shape[1]
        past = torch.ones(length, length, dtype=torch.bool, device=given.device).tril()
        x = self.target(given)
        for layer in self.decoder:
            x = layer(x, past, memory, visible)
        return self.speak(self.final_norm(x))

    def forward(self, spoken: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        memory, visible = self.encode(spoken)
        words = visible[:, 0, 0, :, None]
        heard = (memory * words).sum(1) / words.sum(1)
        return self.decode(given, memory, visible), self.manner(heard)
