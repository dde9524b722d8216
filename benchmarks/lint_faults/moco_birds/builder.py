"""MoCo v3 without a queue: online encoder + predictor, momentum encoder, symmetric loss."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

from dist_utils import concat_all_gather, is_dist


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


def mlp(cin, hidden, cout):
    return nn.Sequential(nn.Linear(cin, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, cout))


class Encoder(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.body = nn.Sequential(conv_block(1, width), conv_block(width, 2 * width), conv_block(2 * width, 4 * width))
        self.proj = mlp(4 * width, 4 * width, dim)

    def forward(self, x):
        return self.proj(self.body(x).mean((2, 3)))


class MoCo(nn.Module):
    def __init__(self, width=16, dim=32, T=0.2):
        super().__init__()
        self.T = T
        self.base = Encoder(width, dim)
        self.predictor = mlp(dim, 2 * dim, dim)
        self.momentum = copy.deepcopy(self.base)
        for p in self.momentum.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update_momentum(self, m):
        for p, q in zip(self.base.parameters(), self.momentum.parameters()):
            q.mul_(m).add_(p, alpha=1 - m)

    def forward(self, x1, x2):
        q1 = self.predictor(self.base(x1))
        q2 = self.predictor(self.base(x2))
        with torch.no_grad():
            k1, k2 = self.momentum(x1), self.momentum(x2)
        return q1, q2, k1, k2

    def contrast(self, q, k):
        """InfoNCE against the keys of all ranks, in float32."""
        with torch.autocast(q.device.type, enabled=False):
            q = F.normalize(q.float(), dim=1)
            k = concat_all_gather(F.normalize(k.float(), dim=1))
            logits = q @ k.t() / self.T
            rank = torch.distributed.get_rank() if is_dist() else 0
            target = torch.arange(len(q), device=q.device) + len(q) * rank
            return F.cross_entropy(logits, target) * (2 * self.T)
