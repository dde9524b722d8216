import torch
from torch import nn

from registry import ARCH_REGISTRY


class ResBlock(nn.Module):
    def __init__(self, num_feat, res_scale=0.2):
        super().__init__()
        self.res_scale = res_scale
        self.conv1 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.conv2 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return x + self.conv2(self.act(self.conv1(x))) * self.res_scale


@ARCH_REGISTRY.register
class TinyEDSR(nn.Module):
    """EDSR without batch norm; the input is expected in [0, 1]."""

    def __init__(self, scale=2, num_feat=64, num_block=16):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.45, 0.44, 0.40]).view(1, 3, 1, 1))
        self.conv_first = nn.Conv2d(3, num_feat, 3, 1, 1)
        self.body = nn.Sequential(*[ResBlock(num_feat) for _ in range(num_block)])
        self.conv_after_body = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.upsample = nn.Sequential(nn.Conv2d(num_feat, 3 * scale**2, 3, 1, 1), nn.PixelShuffle(scale))

    def forward(self, x):
        x = self.conv_first(x - self.mean)
        x = self.conv_after_body(self.body(x)) + x
        return self.upsample(x) + self.mean
