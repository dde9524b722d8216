"""The objective: one loss per output of the model, each a sum of weighted terms."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


class FFTLoss(nn.Module):
    """The mean distance of the Fourier coefficients, real and imaginary parts apart."""

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Compare two batches of images."""
        pred_fft = torch.fft.fft2(pred.float(), dim=(-2, -1), norm="ortho")
        target_fft = torch.fft.fft2(target.float(), dim=(-2, -1), norm="ortho")
        return F.l1_loss(torch.view_as_real(pred_fft), torch.view_as_real(target_fft))


class CombinedLoss(nn.Module):
    """L1 in the pixels plus L1 in the frequencies."""

    def __init__(self, l1_weight: float, fft_weight: float) -> None:
        super().__init__()
        self.l1_weight = l1_weight
        self.fft_weight = fft_weight
        self.l1 = nn.L1Loss()
        self.fft = FFTLoss()

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """The weighted sum."""
        l1: Tensor = self.l1(pred, target)
        fft: Tensor = self.fft(pred, target)
        return self.l1_weight * l1 + self.fft_weight * fft


class LossContainer(nn.Module):
    """Adds up the losses of everything that the model returns."""

    def __init__(self, losses: dict[str, nn.Module]) -> None:
        super().__init__()
        self.losses = nn.ModuleDict(losses)

    def forward(self, outputs: dict[str, Tensor], targets: dict[str, Tensor]) -> Tensor:
        """The total over all named outputs."""
        terms = [loss(outputs[name], targets[name]) for name, loss in self.losses.items()]
        return torch.stack(terms).sum()
