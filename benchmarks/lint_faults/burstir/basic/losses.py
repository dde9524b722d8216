import torch
from torch import nn

from basic.registry import LOSS_REGISTRY


@LOSS_REGISTRY.register()
class CharbonnierLoss(nn.Module):
    def __init__(self, loss_weight=1.0, eps=1e-6):
        super().__init__()
        self.loss_weight, self.eps = loss_weight, eps

    def forward(self, pred, target):
        return self.loss_weight * torch.sqrt((pred - target) ** 2 + self.eps).mean()


@LOSS_REGISTRY.register()
class FrequencyLoss(nn.Module):
    def __init__(self, loss_weight=1.0):
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred, target):
        pred_f = torch.fft.rfft2(pred, norm="ortho")
        target_f = torch.fft.rfft2(target, norm="ortho")
        return self.loss_weight * (pred_f - target_f).abs().mean()
