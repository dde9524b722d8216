"""Losses between a restored picture and its ground truth, both in [0, 1]."""

import torch
import torch.nn.functional as F
from torch import nn


class L1Loss(nn.Module):
    """Mean absolute error."""

    def forward(self, pred, target):
        return (pred - target).abs().mean()


class CharbonnierLoss(nn.Module):
    """L1 with a rounded tip."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, pred, target):
        return torch.sqrt((pred - target) ** 2 + self.eps).mean()


class SSIMLoss(nn.Module):
    """How far the local structure is from that of the target."""

    def __init__(self, window=5):
        super().__init__()
        self.window = window
        self.c1, self.c2 = 0.01**2, 0.03**2

    def forward(self, pred, target):
        def mean(x):
            return F.avg_pool2d(x, self.window, stride=2)

        mu_p, mu_t = mean(pred), mean(target)
        var_p = mean(pred * pred) - mu_p * mu_p
        var_t = mean(target * target) - mu_t * mu_t
        cov = mean(pred * target) - mu_p * mu_t
        luminance = (2 * mu_p * mu_t + self.c1) / (mu_p**2 + mu_t**2 + self.c1)
        structure = (2 * cov + self.c2) / (var_p + var_t + self.c2)
        return 1 - (luminance * structure).mean()


class EdgeLoss(nn.Module):
    """L1 between the slopes in both directions."""

    def forward(self, pred, target):
        dx_p, dy_p = self.slopes(pred)
        dx_t, dy_t = self.slopes(target)
        return (dx_p - dx_t).abs().mean() + (dy_p - dy_t).abs().mean()

    @staticmethod
    def slopes(x):
        return x[..., :, 1:] - x[..., :, :-1], x[..., 1:, :] - x[..., :-1, :]


class TextureLoss(nn.Module):
    """Compares how strong the fine structure of each patch is, wherever in the patch it lies."""

    def __init__(self, window=4):
        super().__init__()
        self.window = window

    def forward(self, pred, target):
        return (self.energy(pred) - self.energy(target)).abs().mean()

    def energy(self, x):
        fine = x - F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)
        return torch.sqrt(F.avg_pool2d(fine**2, self.window) + 1e-4)


LOSSES = {cls.__name__: cls for cls in (L1Loss, CharbonnierLoss, SSIMLoss, EdgeLoss, TextureLoss)}


def build_loss(opt):
    """A loss from its section of the options."""
    args = {key: value for key, value in opt.items() if key not in ("type", "loss_weight")}
    return LOSSES[opt["type"]](**args)
