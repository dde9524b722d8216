import torch
import torch.nn.functional as F
from torch import nn

from .registry import LOSS_REGISTRY


@LOSS_REGISTRY.register()
class L1Loss(nn.Module):
    def __init__(self, loss_weight=1.0):
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred, target):
        return self.loss_weight * F.l1_loss(pred, target)


def _gaussian(size, sigma):
    coords = torch.arange(size, dtype=torch.float32) - size // 2
    g = torch.exp(-(coords**2) / (2 * sigma**2))
    g = g / g.sum()
    return (g[:, None] * g[None, :])[None, None]


def ssim_map(x, y, window):
    channels = x.size(1)
    window = window.expand(channels, 1, -1, -1).to(x)
    mu_x = F.conv2d(x, window, groups=channels)
    mu_y = F.conv2d(y, window, groups=channels)
    var_x = F.conv2d(x * x, window, groups=channels) - mu_x**2
    var_y = F.conv2d(y * y, window, groups=channels) - mu_y**2
    cov = F.conv2d(x * y, window, groups=channels) - mu_x * mu_y
    c1, c2 = 0.01**2, 0.03**2
    return ((2 * mu_x * mu_y + c1) * (2 * cov + c2)) / ((mu_x**2 + mu_y**2 + c1) * (var_x + var_y + c2))


@LOSS_REGISTRY.register()
class SSIMLoss(nn.Module):
    def __init__(self, loss_weight=1.0, window_size=11, sigma=1.5):
        super().__init__()
        self.loss_weight = loss_weight
        self.register_buffer("window", _gaussian(window_size, sigma))

    def forward(self, pred, target):
        score = ssim_map(pred, target, self.window).mean()
        return self.loss_weight * (1 - score)


@LOSS_REGISTRY.register()
class FFTLoss(nn.Module):
    def __init__(self, loss_weight=1.0):
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred, target):
        pred_fft = torch.fft.rfft2(pred.float(), norm="ortho")
        target_fft = torch.fft.rfft2(target.float(), norm="ortho")
        return self.loss_weight * (pred_fft - target_fft).abs().mean()
