import math

import torch
import torch.nn.functional as F
from torch import nn


class AttentionPool(nn.Module):
    """One learned query per head over a sequence."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.keys = nn.Linear(width, heads)
        self.values = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x, mask):
        scores = self.keys(x).masked_fill(~mask[..., None], -1e4)
        values = self.values(x).unflatten(-1, (self.heads, -1))
        with torch.autocast(x.device.type, enabled=False):
            scores = scores.float()
            weights = (scores - scores.amax(dim=1, keepdim=True)).exp()
            weights = weights / weights.sum(dim=1, keepdim=True)
            pooled = (weights[..., None] * values.float()).sum(dim=1)
        return self.out(pooled.flatten(1).to(x.dtype))


class TitleTower(nn.Module):
    def __init__(self, vocabulary, width, heads):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.pool = AttentionPool(width, heads)

    def forward(self, tokens):
        return self.pool(self.mix(self.embed(tokens)), tokens != 0)


class ImageTower(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.norm = nn.LayerNorm(width)
        self.pool = AttentionPool(width, heads)

    def forward(self, image):
        h = self.norm(self.patch(image).flatten(2).transpose(1, 2))
        return self.pool(h, torch.ones(h.shape[:2], dtype=torch.bool, device=h.device))


class TwoTowers(nn.Module):
    def __init__(self, vocabulary, width, heads, temperature):
        super().__init__()
        self.title = TitleTower(vocabulary, width, heads)
        self.image = ImageTower(width, heads)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / temperature)))

    def forward(self, tokens, image, weight):
        """The symmetric contrastive loss; products of weight zero have no title and do not count."""
        t, v = self.title(tokens), self.image(image)
        with torch.autocast(t.device.type, enabled=False):
            t, v = F.normalize(t.float(), dim=-1), F.normalize(v.float(), dim=-1)
            logits = self.log_scale.clamp(max=4.6).exp() * t.float() @ v.float().T
            logits = logits.masked_fill(weight[None, :] == 0, -1e4)
            target = torch.arange(len(t), device=t.device)
            both = F.cross_entropy(logits, target, reduction="none")
            both = both + F.cross_entropy(logits.T.masked_fill(weight[None, :] == 0, -1e4), target, reduction="none")
            return 0.5 * (both * weight).sum() / weight.sum().clamp(min=1)
