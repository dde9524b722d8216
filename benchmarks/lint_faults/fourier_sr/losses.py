import torch
from torch import nn

from registry import LOSS_REGISTRY


@LOSS_REGISTRY.register
class Charbonnier(nn.Module):
    def __init__(self, weight=1.0, eps=1e-3):
        super().__init__()
        self.weight, self.eps = weight, eps

    def forward(self, pred, target):
        diff = pred.float() - target.float()
        return self.weight * torch.sqrt(diff * diff + self.eps**2).mean()


@LOSS_REGISTRY.register
class FFTLoss(nn.Module):
    """L1 between the spectra, as in MIMO-UNet."""

    def __init__(self, weight=0.1):
        super().__init__()
        self.weight = weight

    def forward(self, pred, target):
        pred_fft = torch.fft.rfft2(pred.float(), norm="ortho")
        target_fft = torch.fft.rfft2(target.float(), norm="ortho")
        diff = torch.view_as_real(pred_fft) - torch.view_as_real(target_fft)
        return self.weight * diff.abs().mean()


class LossBag(nn.Module):
    def __init__(self, opts):
        super().__init__()
        self.parts = nn.ModuleDict({o["type"]: LOSS_REGISTRY.build(o) for o in opts})

    def forward(self, pred, target):
        logs = {name: part(pred, target) for name, part in self.parts.items()}
        return sum(logs.values()), {k: v.detach() for k, v in logs.items()}
