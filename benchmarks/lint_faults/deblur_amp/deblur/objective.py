from __future__ import annotations

import torch
from torch import Tensor, nn


class FrequencyLoss(nn.Module):
    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        difference = torch.fft.rfft2(pred.float() - target.float(), norm="ortho")
        return torch.view_as_real(difference).abs().mean()


class DeblurLoss(nn.Module):
    def __init__(self, frequency_weight: float = 0.1) -> None:
        super().__init__()
        self.frequency_weight = frequency_weight
        self.pixel = nn.L1Loss()
        self.frequency = FrequencyLoss()

    def forward(self, pred: Tensor, target: Tensor) -> dict[str, Tensor]:
        pixel, frequency = self.pixel(pred, target), self.frequency(pred, target)
        return {"pixel": pixel, "frequency": frequency, "total": pixel + self.frequency_weight * frequency}
