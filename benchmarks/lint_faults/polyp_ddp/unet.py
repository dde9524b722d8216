import torch
import torch.nn.functional as F
from torch import nn


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Gives one logit for each pixel."""

    def __init__(self, width, dropout):
        super().__init__()
        self.enc1, self.enc2 = double_conv(3, width), double_conv(width, 2 * width)
        self.mid = double_conv(2 * width, 4 * width)
        self.dec2, self.dec1 = double_conv(6 * width, 2 * width), double_conv(3 * width, width)
        self.drop = nn.Dropout2d(dropout)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        s1 = self.enc1(x)
        s2 = self.enc2(F.max_pool2d(s1, 2))
        y = self.drop(self.mid(F.max_pool2d(s2, 2)))
        y = self.dec2(torch.cat([F.interpolate(y, scale_factor=2), s2], 1))
        y = self.dec1(torch.cat([F.interpolate(y, scale_factor=2), s1], 1))
        return self.head(y)


class BCEDice(nn.Module):
    def __init__(self, bce, dice, smooth=1.0):
        super().__init__()
        self.w_bce, self.w_dice, self.smooth = bce, dice, smooth

    def forward(self, logits, mask):
        logits = logits.float()
        probs = logits.sigmoid()
        bce = F.binary_cross_entropy_with_logits(logits, mask)
        overlap = (probs * mask).sum((1, 2, 3))
        dice = 1 - (2 * overlap + self.smooth) / ((probs + mask).sum((1, 2, 3)) + self.smooth)
        return self.w_bce * bce + self.w_dice * dice.mean()
