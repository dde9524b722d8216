import torch
from torch import nn


class FFTLoss(nn.Module):
    def __init__(self, loss_weight=1.0, reduction="mean"): #@
        super().__init__()
        self.loss_weight = loss_weight
        self.criterion = nn.MSELoss(reduction=reduction)

    def forward(self, pred, target):
        pred_fft = torch.view_as_real(torch.fft.rfft2(pred)) #@
        target_fft = torch.view_as_real(torch.fft.rfft2(target)) #@
        return self.loss_weight * self.criterion(pred_fft, target_fft) #@
