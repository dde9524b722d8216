import torch
from torch import nn


class Acoustic(nn.Module):
    """Phones to frames: encoder, length regulator with given durations, decoder."""

    def __init__(self, symbols, n_mels, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim, padding_idx=0)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.duration = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim, 1))
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.to_mel = nn.Linear(dim, n_mels)

    def forward(self, phones, durs, max_frames):
        h, _ = self.encoder(self.embed(phones))
        log_dur = self.duration(h).squeeze(-1)
        ends = durs.cumsum(1)
        t = torch.arange(max_frames, device=phones.device)
        index = torch.searchsorted(ends, t.expand(len(ends), -1).contiguous(), right=True).clamp(max=phones.shape[1] - 1)
        frames = h.gather(1, index.unsqueeze(-1).expand(-1, -1, h.shape[-1]))
        out, _ = self.decoder(self.drop(frames))
        return self.to_mel(self.drop(out)), log_dur


def frame_mask(n_frames, longest):
    return torch.arange(longest, device=n_frames.device) < n_frames[:, None]


def masked_l1(pred, target, n_frames):
    """Mean absolute error over the frames that exist."""
    mask = frame_mask(n_frames, target.shape[1]).unsqueeze(-1)
    return ((pred.float() - target).abs() * mask).sum() / (mask.sum() * target.shape[-1])


def duration_loss(log_dur, durs):
    real = durs > 0
    return (log_dur.float()[real] - durs[real].float().log()).pow(2).mean()
