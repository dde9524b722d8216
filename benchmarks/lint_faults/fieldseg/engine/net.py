import torch
from torch import nn
from torch.nn import functional as F


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class FieldNet(nn.Module):
    """A U-Net with two levels. Any height and width: it pads to multiples of four and crops back."""

    def __init__(self, classes, width, dropout):
        super().__init__()
        self.enc1, self.enc2, self.mid = block(3, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.dec2, self.dec1 = block(6 * width, 2 * width), block(3 * width, width)
        self.drop = nn.Dropout2d(dropout)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        h, w = x.shape[-2:]
        x = F.pad(x, (0, -w % 4, 0, -h % 4), mode="reflect")
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        c = self.drop(self.mid(F.max_pool2d(b, 2)))
        b = self.dec2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.dec1(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.head(a)[..., :h, :w]
