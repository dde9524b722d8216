"""Pixel, structural and frequency terms for restoration."""
import torch
import torch.nn.functional as F
from torch import nn


def gaussian_window(size: int, sigma: float, channels: int) -> torch.Tensor:
    x = torch.arange(size, dtype=torch.float32) - size // 2
    g = torch.exp(-(x**2) / (2 * sigma**2))
    g = g / g.sum()
    return (g[:, None] * g[None, :]).expand(channels, 1, size, size).contiguous()


class SSIM(nn.Module):
    """Mean structural similarity of images in [0, 1]; 1 means identical."""

    def __init__(self, channels: int = 3, size: int = 7, sigma: float = 1.5):
        super().__init__()
        self.register_buffer("window", gaussian_window(size, sigma, channels))
        self.channels = channels
        self.c1, self.c2 = 0.01**2, 0.03**2

    def _blur(self, x):
        return F.conv2d(x, self.window, groups=self.channels)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        mu_a, mu_b = self._blur(a), self._blur(b)
        var_a = self._blur(a * a) - mu_a**2
        var_b = self._blur(b * b) - mu_b**2
        cov = self._blur(a * b) - mu_a * mu_b
        num = (2 * mu_a * mu_b + self.c1) * (2 * cov + self.c2)
        den = (mu_a**2 + mu_b**2 + self.c1) * (var_a + var_b + self.c2)
        return (num / den).mean()


def charbonnier(pred, target, eps: float = 1e-3):
    return torch.sqrt((pred - target) ** 2 + eps**2).mean()


def frequency_l1(pred, target):
    diff = torch.fft.rfft2(pred, norm="ortho") - torch.fft.rfft2(target, norm="ortho")
    return diff.abs().mean()


class RestorationLoss(nn.Module):
    def __init__(self, w_pixel: float, w_ssim: float, w_freq: float):
        super().__init__()
        self.w_pixel, self.w_ssim, self.w_freq = w_pixel, w_ssim, w_freq
        self.ssim = SSIM()

    def forward(self, pred: torch.Tensor, target: torch.Tensor):
        with torch.autocast(device_type=pred.device.type, enabled=False):
            pred, target = pred.float(), target.float()
            terms = {
                "pixel": charbonnier(pred, target),
                "ssim": 1.0 - self.ssim(pred, target),
                "freq": frequency_l1(pred, target),
            }
        total = self.w_pixel * terms["pixel"] + self.w_ssim * terms["ssim"] + self.w_freq * terms["freq"]
        return total, {k: v.detach() for k, v in terms.items()}
