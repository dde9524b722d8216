"""The generator."""

import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut, without normalisation."""

    def __init__(self, num_feat, res_scale=1.0):
        super().__init__()
        self.res_scale = res_scale
        self.conv1 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.conv2 = nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.act = nn.LeakyReLU(0.1, inplace=True)

    def forward(self, x):
        out = self.conv2(self.act(self.conv1(x)))
        return x + out * self.res_scale


class SharpenNet(nn.Module):
    """Adds the detail that a bicubic enlargement lacks.

    Everything but the last shuffle works at the size of the input.
    """

    def __init__(self, num_feat=14, num_block=2, upscale=2, res_scale=1.0):
        super().__init__()
        self.upscale = upscale
        self.conv_first = nn.Conv2d(1, num_feat, 3, 1, 1)
        self.body = nn.Sequential(*[ResidualBlock(num_feat, res_scale) for _ in range(num_block)])
        self.conv_last = nn.Conv2d(num_feat, upscale**2, 3, 1, 1)
        self.shuffle = nn.PixelShuffle(upscale)
        self.init_weights()

    def init_weights(self, scale=0.1):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, a=0.1)
                nn.init.zeros_(module.bias)
        for block in self.body:
            block.conv2.weight.data.mul_(scale)
        self.conv_last.weight.data.mul_(scale)

    def forward(self, lq):
        base = F.interpolate(lq, scale_factor=self.upscale, mode="bicubic", align_corners=False)
        feat = self.conv_first(lq)
        feat = self.body(feat) + feat
        detail = self.shuffle(self.conv_last(feat))
        return base + detail
