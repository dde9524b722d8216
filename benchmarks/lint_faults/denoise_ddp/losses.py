import torch
import torch.nn.functional as F
from torch import nn


def triangular_bands(bins, bands):
    centres = torch.linspace(0, bins - 1, bands + 2)
    at = torch.arange(bins, dtype=torch.float32)[None]
    left, mid, right = centres[:-2, None], centres[1:-1, None], centres[2:, None]
    up = (at - left) / (mid - left)
    down = (right - at) / (right - mid)
    bank = torch.minimum(up, down).clamp_min(0)
    return bank / bank.sum(dim=1, keepdim=True)


def magnitude(wave, n_fft, window):
    spec = torch.stft(wave, n_fft, n_fft // 4, window=window, normalized=True, return_complex=True)
    return spec.abs()


class BandLoss(nn.Module):
    """Log energies in bands, compared at one resolution."""

    def __init__(self, n_fft, bands):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("bank", triangular_bands(n_fft // 2 + 1, bands))

    def forward(self, estimate, clean):
        with torch.autocast(estimate.device.type, enabled=False):
            mag_e = magnitude(estimate.float(), self.n_fft, self.window)
            mag_c = magnitude(clean.float(), self.n_fft, self.window)
            bands_e = torch.matmul(self.bank, mag_e.float())
            bands_c = torch.matmul(self.bank, mag_c.float())
            return F.l1_loss(bands_e.clamp_min(1e-4).log(), bands_c.clamp_min(1e-4).log())


class DenoiseLoss(nn.Module):
    def __init__(self, sizes=(64, 128, 256), bands=16, band_weight=0.5):
        super().__init__()
        self.terms = nn.ModuleList(BandLoss(n, bands) for n in sizes)
        self.band_weight = band_weight

    def forward(self, estimate, clean):
        loss = F.l1_loss(estimate, clean)
        for term in self.terms:
            loss = loss + self.band_weight * term(estimate, clean) / len(self.terms)
        return loss
