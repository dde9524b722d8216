import torch
import torch.nn as nn
import torch.nn.functional as F

from dist_utils import everyones


class DecoupledContrast(nn.Module):
    """InfoNCE without the positive in the denominator, both ways, plus a pull on the pairs."""

    def __init__(self, align_weight):
        super().__init__()
        self.align_weight = align_weight

    def one_way(self, anchor, other, scale):
        others, first = everyones(other)
        logits = scale * anchor @ others.t()
        mine = torch.zeros_like(logits, dtype=torch.bool)
        mine.diagonal(first).fill_(True)
        negatives = logits.masked_fill(mine, float("-inf"))
        return (torch.logsumexp(negatives, 1) - logits[mine]).mean()

    def forward(self, a, b, scale):
        contrast = 0.5 * (self.one_way(a, b, scale) + self.one_way(b, a, scale))
        align = 1 - F.cosine_similarity(a, b).mean()
        return contrast + self.align_weight * align
