import torch
import torch.nn as nn
import torch.nn.functional as F


class FFTLoss(nn.Module):
    def __init__(self, loss_weight=1.0): #@
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred, target):
        pred = torch.fft.rfft2(pred, norm="backward") #@
        target = torch.fft.rfft2(target, norm="backward") #@
        pred = torch.stack([pred.real, pred.imag], dim=-1)
        target = torch.stack([target.real, target.imag], dim=-1)
        return self.loss_weight * F.mse_loss(pred, target) #@
