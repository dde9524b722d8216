"""The terms of the training objective. Each module holds its `loss_weight`; the model applies it."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from .options import LossOptions, OptionError

WINDOW = 11
SIGMA = 1.5
# The usual stabilisers of SSIM for images in [0, 1].
C1 = 0.01**2
C2 = 0.03**2


class L1Loss(nn.Module):
    """Mean absolute difference."""

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Compare two batches of images."""
        return F.l1_loss(pred, target)


class SSIMLoss(nn.Module):
    """Structural similarity over an 11x11 Gaussian window, averaged over pixels and channels."""

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Compare two batches of images."""
        luminance, structure = ssim_maps(pred, target)
        return 1 - (luminance * structure).mean()


class MSSIMLoss(nn.Module):
    """Multi-scale structural similarity: structure at every scale, luminance at the coarsest."""

    def __init__(self, loss_weight: float = 1.0, scales: int = 2) -> None:
        super().__init__()
        self.loss_weight = loss_weight
        self.scales = scales

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Compare two batches of images."""
        score = torch.ones((), device=pred.device)
        for level in range(self.scales):
            luminance, structure = ssim_maps(pred, target)
            last = level == self.scales - 1
            similarity = (luminance * structure if last else structure).mean()
            score = score * similarity.clamp(min=1e-6) ** (1 / self.scales)
            pred, target = F.avg_pool2d(pred, 2), F.avg_pool2d(target, 2)
        return 1 - score.clamp(0, 1)


def ssim_maps(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the luminance and the contrast-structure map of two batches."""
    channels = x.shape[1]
    stack = torch.cat((x, y, x * x, y * y, x * y), dim=1)
    mean_x, mean_y, xx, yy, xy = torch.split(_blur(stack), channels, dim=1)
    var_x, var_y, cov = xx - mean_x**2, yy - mean_y**2, xy - mean_x * mean_y
    luminance = (2 * mean_x * mean_y + C1) / (mean_x**2 + mean_y**2 + C1)
    return luminance, (2 * cov + C2) / (var_x + var_y + C2)


def _blur(x: Tensor) -> Tensor:
    offsets = torch.arange(WINDOW, device=x.device, dtype=x.dtype) - WINDOW // 2
    kernel = torch.exp(-(offsets**2) / (2 * SIGMA**2))
    weight = (kernel / kernel.sum()).expand(x.shape[1], 1, WINDOW)
    x = F.conv2d(x, weight.unsqueeze(2), groups=x.shape[1])
    return F.conv2d(x, weight.unsqueeze(3), groups=x.shape[1])


LOSSES: dict[str, type[L1Loss | SSIMLoss | MSSIMLoss]] = {
    "l1loss": L1Loss,
    "ssimloss": SSIMLoss,
    "mssimloss": MSSIMLoss,
}


def build_loss(opt: LossOptions) -> L1Loss | SSIMLoss | MSSIMLoss:
    """Make the loss that `opt` names."""
    kind = opt.type.lower()
    if kind not in LOSSES:
        raise OptionError(f"unknown loss type `{opt.type}`; known: {', '.join(LOSSES)}")
    return LOSSES[kind](loss_weight=opt.loss_weight)


def loss_label(opt: LossOptions) -> str:
    """Name the loss the way the log does: l1loss becomes l_g_l1."""
    return "l_g_" + opt.type.lower().replace("loss", "")
