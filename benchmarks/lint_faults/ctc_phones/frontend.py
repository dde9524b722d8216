import torch
from torch import nn

SAMPLE_RATE = 8000
N_FFT, HOP, N_MELS = 200, 80, 24


def mel_filters(n_bins, n_mels):
    def to_mel(hz):
        return 2595 * torch.log10(1 + hz / 700)

    hz = torch.linspace(0, SAMPLE_RATE / 2, n_bins)
    points = torch.linspace(0, float(to_mel(torch.tensor(SAMPLE_RATE / 2))), n_mels + 2)
    mel = to_mel(hz)[:, None]
    up = (mel - points[:-2]) / (points[1:-1] - points[:-2])
    down = (points[2:] - mel) / (points[2:] - points[1:-1])
    return torch.minimum(up, down).clamp_min(0)


class LogMel(nn.Module):
    """Log mel energies, normalised by statistics of the training set."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT))
        self.register_buffer("filters", mel_filters(N_FFT // 2 + 1, N_MELS))
        self.register_buffer("mean", torch.zeros(N_MELS))
        self.register_buffer("std", torch.ones(N_MELS))

    def energies(self, wave):
        with torch.autocast(wave.device.type, enabled=False):
            spec = torch.stft(wave.float(), N_FFT, HOP, window=self.window, return_complex=True)
            power = spec.abs().pow(2).transpose(1, 2)
            return torch.log(power @ self.filters + 1e-6)

    @torch.no_grad()
    def fit(self, waves):
        rows = torch.cat([self.energies(w[None])[0] for w in waves])
        self.mean.copy_(rows.mean(0))
        self.std.copy_(rows.std(0).clamp_min(1e-3))

    def forward(self, wave, lengths):
        feats = (self.energies(wave) - self.mean) / self.std
        return feats, lengths // HOP + 1
