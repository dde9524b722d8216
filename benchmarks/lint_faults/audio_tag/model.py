import torch
from torch import nn


def mel_filterbank(n_mels, n_fft, sample_rate):
    def to_mel(f):
        return 2595 * torch.log10(1 + f / 700)

    freqs = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1)
    edges = torch.linspace(0, float(to_mel(torch.tensor(sample_rate / 2))), n_mels + 2)
    mel = to_mel(freqs)
    up = (mel[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - mel[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0)


class LogMel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_fft, self.hop = cfg["n_fft"], cfg["hop"]
        self.register_buffer("window", torch.hann_window(self.n_fft))
        self.register_buffer("fbank", mel_filterbank(cfg["n_mels"], self.n_fft, cfg["sample_rate"]))

    def forward(self, wave):
        b, c, n = wave.shape
        with torch.autocast(device_type=wave.device.type, enabled=False):
            wave = wave.float().reshape(b * c, n)
            spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
            power = spec.real.square() + spec.imag.square()
            logmel = torch.log(torch.matmul(self.fbank, power) + 1e-6)
        return logmel.view(b, c, *logmel.shape[1:])


class LevelNorm(nn.Module):
    """Divides every map by its mean magnitude."""

    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        full = x.float()
        level = full.abs().mean(dim=(2, 3), keepdim=True)
        return (full / (level + self.eps)).to(x.dtype)


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        ch = cfg["channels"]
        self.features = LogMel(cfg)
        self.input_norm = nn.BatchNorm2d(2)
        self.body = nn.Sequential(
            nn.Conv2d(2, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(), LevelNorm(), nn.MaxPool2d(2),
            nn.Conv2d(ch, 2 * ch, 3, padding=1), nn.BatchNorm2d(2 * ch), nn.ReLU(),
        )
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(2 * ch, cfg["n_tags"])

    def forward(self, wave):
        h = self.body(self.input_norm(self.features(wave)))
        return self.head(self.dropout(h.mean(dim=3).amax(dim=2)))
