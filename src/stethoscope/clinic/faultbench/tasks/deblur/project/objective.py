"""What is minimised, and what is measured."""

import torch
from torch.nn import functional as F


def pixel_loss(restored, sharp):
    """Charbonnier's distance."""
    return torch.sqrt((restored - sharp).square() + 1e-6).mean()


def frequency_loss(restored, sharp):
    """The mean distance of the spectra."""
    difference = torch.fft.rfft2(restored - sharp, norm="ortho")
    return torch.view_as_real(difference).abs().mean()


def structural_similarity(x, y, window=7):
    """1 where two pictures are the same."""
    mean_x, mean_y = F.avg_pool2d(x, window, 1), F.avg_pool2d(y, window, 1)
    var_x = F.avg_pool2d(x * x, window, 1) - mean_x.square()
    var_y = F.avg_pool2d(y * y, window, 1) - mean_y.square()
    both = F.avg_pool2d(x * y, window, 1) - mean_x * mean_y
    c1, c2 = 0.01**2, 0.03**2
    top = (2 * mean_x * mean_y + c1) * (2 * both + c2)
    return (top / ((mean_x.square() + mean_y.square() + c1) * (var_x + var_y + c2))).mean()


def objective(restored, sharp, weights):
    """The total that is minimised, and its parts."""
    parts = {
        "pixel": pixel_loss(restored, sharp),
        "frequency": frequency_loss(restored, sharp),
        "structure": 1.0 - structural_similarity(restored, sharp),
    }
    total = sum(weights[name] * part for name, part in parts.items())
    return weights["weight"] * total, parts


def psnr(restored, sharp):
    """The peak signal-to-noise ratio of each picture, in dB."""
    error = (restored.clamp(0.0, 1.0) - sharp).square().mean((1, 2, 3))
    return -10.0 * torch.log10(error + 1e-10)
