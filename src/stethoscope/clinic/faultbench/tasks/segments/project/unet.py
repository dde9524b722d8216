"""A U-Net with two levels and an auxiliary head in the middle of the way up."""

import torch
import torch.nn.functional as F
from torch import nn


def make_norm(kind, channels):
    return nn.BatchNorm2d(channels) if kind == "batch" else nn.GroupNorm(4, channels)


def double_conv(c_in, c_out, norm):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
        make_norm(norm, c_out),
        nn.ReLU(inplace=True),
        nn.Conv2d(c_out, c_out, 3, padding=1, bias=False),
        make_norm(norm, c_out),
        nn.ReLU(inplace=True),
    )


def init_weights(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        if m.bias is not None:
            nn.init.zeros_(m.bias)


class UNet(nn.Module):
    def __init__(self, classes, width=8, norm="batch", dropout=0.0):
        super().__init__()
        w = width
        self.enc1 = double_conv(1, w, norm)
        self.enc2 = double_conv(w, 2 * w, norm)
        self.neck = double_conv(2 * w, 4 * w, norm)
        self.dec2 = double_conv(6 * w, 2 * w, norm)
        self.dec1 = double_conv(3 * w, w, norm)
        self.drop = nn.Dropout2d(dropout)
        self.head = nn.Conv2d(w, classes, 1)
        self.aux_head = nn.Conv2d(2 * w, classes, 1)
        self.apply(init_weights)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        n = self.neck(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([F.interpolate(n, scale_factor=2.0), e2], dim=1))
        d1 = self.dec1(torch.cat([F.interpolate(d2, scale_factor=2.0), e1], dim=1))
        aux = F.interpolate(self.aux_head(d2), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return self.head(self.drop(d1)), aux
