import torch
from torch import Tensor, nn


def mel_matrix(n_fft: int, mels: int, sample_rate: int) -> Tensor:
    """Triangular filters, (frequencies, mels)."""
    top = 2595 * torch.log10(torch.tensor(1 + sample_rate / 2 / 700))
    edges = 700 * (10 ** (torch.linspace(0, float(top), mels + 2) / 2595) - 1)
    freqs = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1)[:, None]
    left, mid, right = edges[:-2], edges[1:-1], edges[2:]
    rise, fall = (freqs - left) / (mid - left), (right - freqs) / (right - mid)
    return torch.minimum(rise, fall).clamp(min=0)


class LogMel(nn.Module):
    """A learned pre-emphasis, then a log-mel spectrogram."""

    def __init__(self, n_fft: int, hop: int, mels: int, sample_rate: int) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.emphasis = nn.Conv1d(1, 1, 3, padding=1, bias=False)
        nn.init.dirac_(self.emphasis.weight)
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("filters", mel_matrix(n_fft, mels, sample_rate))

    def forward(self, wave: Tensor) -> Tensor:
        wave = self.emphasis(wave.unsqueeze(1)).squeeze(1)
        with torch.autocast(wave.device.type, enabled=False):
            frames = wave.float().unfold(-1, self.n_fft, self.hop)
            power = torch.fft.rfft(frames * self.window).abs().square()
            mel = torch.log(power @ self.filters + 1e-6)
        return mel.transpose(1, 2).unsqueeze(1)


class ChannelRMSNorm(nn.Module):
    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        xf = x.float()
        ms = (xf * xf).mean(dim=1, keepdim=True)
        return (self.gain.view(-1, 1, 1) * xf * torch.rsqrt(ms + self.eps)).to(x.dtype)
