import torch.nn.functional as F
from torch import nn

from .registry import ARCH_REGISTRY


class ResidualBlock(nn.Module):
    def __init__(self, num_feat):
        super().__init__()
        self.conv1 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.conv2 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.act = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x):
        return x + 0.2 * self.conv2(self.act(self.conv1(x)))


@ARCH_REGISTRY.register()
class ResNetSR(nn.Module):
    def __init__(self, scale, num_feat=64, num_block=16):
        super().__init__()
        self.scale = scale
        self.head = nn.Conv2d(3, num_feat, 3, 1, 1)
        self.body = nn.Sequential(*[ResidualBlock(num_feat) for _ in range(num_block)])
        self.tail = nn.Conv2d(num_feat, 3 * scale * scale, 3, 1, 1)

    def forward(self, x):
        base = F.interpolate(x, scale_factor=self.scale, mode="bicubic", align_corners=False)
        return base + F.pixel_shuffle(self.tail(self.body(self.head(x))), self.scale)
