import torch
from torch import nn


class PixelTerm(nn.Module):
    def forward(self, pred, target):
        return ((pred - target) ** 2 + 1e-6).sqrt().mean()


class SpectrumTerm(nn.Module):
    """Mean distance of the Fourier coefficients, in an orthonormal transform."""

    def forward(self, pred, target):
        gap = torch.fft.rfft2(pred, norm="ortho") - torch.fft.rfft2(target, norm="ortho")
        return gap.abs().mean()


TERMS = {"pixel": PixelTerm, "spectrum": SpectrumTerm}


class Objective(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = dict(weights)
        self.terms = nn.ModuleDict({name: TERMS[name]() for name in weights})

    def forward(self, pred, target):
        parts = {name: term(pred, target) for name, term in self.terms.items()}
        return sum(self.weights[name] * value for name, value in parts.items()), parts
