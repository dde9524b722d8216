import torch
from torch import nn

ARCHS = {}


def register(cls):
    ARCHS[cls.__name__] = cls
    return cls


def build_network(opt):
    opt = dict(opt)
    return ARCHS[opt.pop("type")](**opt)


class SimpleGateBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.norm = nn.GroupNorm(1, ch)
        self.expand = nn.Conv2d(ch, 2 * ch, 1)
        self.depth = nn.Conv2d(2 * ch, 2 * ch, 3, padding=1, groups=2 * ch)
        self.shrink = nn.Conv2d(ch, ch, 1)
        self.beta = nn.Parameter(torch.zeros(1, ch, 1, 1))

    def forward(self, x):
        a, b = self.depth(self.expand(self.norm(x))).chunk(2, dim=1)
        return x + self.beta * self.shrink(a * torch.sigmoid(b))


@register
class GateNet(nn.Module):
    def __init__(self, num_feat, num_block):
        super().__init__()
        self.first = nn.Conv2d(3, num_feat, 3, padding=1)
        self.body = nn.Sequential(*[SimpleGateBlock(num_feat) for _ in range(num_block)])
        self.last = nn.Conv2d(num_feat, 3, 3, padding=1)

    def forward(self, x):
        return x + self.last(self.body(self.first(x)))
