import torch
from torch import nn


class AmplitudeLoss(nn.Module):
    """Matches amplitude spectra along the time axis."""

    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def forward(self, pred, target):
        pred_amp = torch.fft.rfft(pred, dim=1).abs()  #@
        target_amp = torch.fft.rfft(target, dim=1).abs()  #@
        return self.weight * (pred_amp - target_amp).abs().pow(2).sum(dim=(1, 2)).mean()  #@


class CompositeLoss(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.terms = nn.ModuleDict(terms)

    def forward(self, pred, target):
        return sum(term(pred, target) for term in self.terms.values())
