"""The two networks."""

import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, num_feat):
        super().__init__()
        self.conv1 = nn.Conv2d(num_feat, num_feat, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(num_feat)
        self.conv2 = nn.Conv2d(num_feat, num_feat, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(num_feat)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return x + self.bn2(self.conv2(out))


class SRGenerator(nn.Module):
    """Residual blocks at low resolution, then a pixel shuffle; adds detail to a bilinear picture."""

    def __init__(self, num_feat=16, num_block=2):
        super().__init__()
        self.conv_first = nn.Conv2d(1, num_feat, 3, padding=1)
        self.body = nn.Sequential(*[ResidualBlock(num_feat) for _ in range(num_block)])
        self.upsample = nn.Sequential(
            nn.Conv2d(num_feat, 4 * num_feat, 3, padding=1), nn.PixelShuffle(2), nn.LeakyReLU(0.2)
        )
        self.conv_last = nn.Conv2d(num_feat, 1, 3, padding=1)

    def forward(self, x):
        base = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        feat = F.leaky_relu(self.conv_first(x), 0.2)
        feat = self.body(feat)
        return base + self.conv_last(self.upsample(feat))


class PatchDiscriminator(nn.Module):
    """One logit for each patch."""

    def __init__(self, num_feat=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, num_feat, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(num_feat, 2 * num_feat, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(2 * num_feat, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.layers(4.0 * (x - 0.5))
