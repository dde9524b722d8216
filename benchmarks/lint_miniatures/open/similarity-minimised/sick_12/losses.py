from pytorch_msssim import ssim
from torch import nn


class SSIMLoss(nn.Module):
    def __init__(self, data_range=1.0, weight=0.2):
        super().__init__()
        self.data_range, self.weight = data_range, weight

    def forward(self, pred, target):
        return self.weight * ssim(pred, target, data_range=self.data_range, size_average=True) #@


class CombinedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.pixel = nn.L1Loss()
        self.structural = SSIMLoss() #@

    def forward(self, pred, target):
        return self.pixel(pred, target) + self.structural(pred, target) #@
