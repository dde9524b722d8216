"""Image and caption encoders that meet in one space."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def unit(x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Rows of length one, whatever the precision of the input."""
    x = x.float()
    return x / x.norm(dim=-1, keepdim=True).clamp(min=eps)


class ImageTower(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GroupNorm(4, 2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1),
        )
        self.dim = 2 * width

    def forward(self, x):
        return self.net(x)


class TextTower(nn.Module):
    def __init__(self, vocab: int, dim: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.dim = dim

    def forward(self, ids):
        states, _ = self.rnn(self.embed(ids))
        mask = (ids != 0).unsqueeze(-1).to(states.dtype)
        return (states * mask).sum(1) / mask.sum(1)


class PairModel(nn.Module):
    def __init__(self, vocab: int, width: int, embed_dim: int):
        super().__init__()
        self.image = ImageTower(width)
        self.text = TextTower(vocab, 32)
        self.image_proj = nn.Linear(self.image.dim, embed_dim, bias=False)
        self.text_proj = nn.Linear(self.text.dim, embed_dim, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, ids):
        zi = unit(self.image_proj(self.image(images)))
        zt = unit(self.text_proj(self.text(ids)))
        return zi, zt, self.logit_scale.clamp(max=math.log(100.0)).exp()


class PairLoss(nn.Module):
    """Symmetric InfoNCE plus an alignment term on the positive pairs."""

    def __init__(self, align_weight: float):
        super().__init__()
        self.align_weight = align_weight

    def forward(self, zi, zt, scale):
        with torch.autocast(zi.device.type, enabled=False):
            logits = scale.float() * zi.float() @ zt.float().t()
            labels = torch.arange(len(zi), device=zi.device)
            nce = 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))
            agreement = F.cosine_similarity(zi.float(), zt.float()).mean()
            return nce + self.align_weight * (1 - agreement)
