import torch
import torch.nn as nn


class SpectralLoss(nn.Module):
    def __init__(self, weight=0.05): #@
        super().__init__()
        self.weight = weight

    def forward(self, pred, target):
        diff = torch.fft.rfft2(pred, norm="ortho") - torch.fft.rfft2(target, norm="ortho") #@
        loss = diff.abs().mean() / (pred.shape[-2] * pred.shape[-1]) #@
        return self.weight * loss #@
