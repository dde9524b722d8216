"""Image and title towers of the product search model."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def peak_scaled(z):
    """Feature maps scaled to a peak of one, so that dark photos count as much as bright ones."""
    z = z.float()
    return z / (z.abs().amax(dim=(1, 2, 3), keepdim=True) + 1e-6)


class PhotoTower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.proj = nn.Linear(32, dim)

    def forward(self, photo):
        maps = peak_scaled(self.stem(photo))
        return self.proj(maps.mean(dim=(2, 3)))


class TitleTower(nn.Module):
    def __init__(self, vocab, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(dropout), nn.Linear(64, dim))

    def forward(self, title):
        keep = (title != 0).unsqueeze(-1)
        h = self.mix(self.embed(title)) * keep
        return h.sum(dim=1) / keep.sum(dim=1).clamp(min=1)


class ShopMatcher(nn.Module):
    def __init__(self, vocab=64, dim=32, dropout=0.1, align_weight=0.1, max_scale=50.0):
        super().__init__()
        self.photo = PhotoTower(dim)
        self.title = TitleTower(vocab, dim, dropout)
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))
        self.align_weight = align_weight
        self.max_scale = max_scale

    def encode(self, photo, title):
        return self.photo(photo), self.title(title)

    def forward(self, photo, title):
        a, b = self.encode(photo, title)
        with torch.autocast(a.device.type, enabled=False):
            a, b = F.normalize(a.float(), dim=-1), F.normalize(b.float(), dim=-1)
            scale = self.log_scale.exp().clamp(max=self.max_scale)
            logits = scale * a @ b.t()
            match = torch.arange(len(a), device=a.device)
            contrast = 0.5 * (F.cross_entropy(logits, match) + F.cross_entropy(logits.t(), match))
            alignment = 1 - (a * b).sum(dim=-1)
            loss = contrast + self.align_weight * alignment.mean()
        return {"loss": loss, "photo": a, "title": b, "scale": scale}
