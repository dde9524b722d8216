#!/usr/bin/env python
"""Takes the noise out of short stereo recordings. Old recordings are mono and are played on both channels."""
import argparse
import math
from dataclasses import dataclass, fields
from functools import partial

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset, Sampler


@dataclass
class Options:
    train_clips: int = 48
    valid_clips: int = 12
    batch_size: int = 6
    epochs: int = 3
    lr: float = 3e-3
    hidden: int = 16
    dropout: float = 0.1
    snr_start: float = 20.0
    snr_end: float = 5.0
    snr_epochs: int = 2
    w_wave: float = 1.0
    w_spec: float = 0.5
    w_sdr: float = 0.05
    ema: float = 0.9
    seed: int = 0
    save: str = "hush.pt"

    @classmethod
    def from_command_line(cls):
        ap = argparse.ArgumentParser(description=__doc__)
        for f in fields(cls):
            ap.add_argument("--" + f.name.replace("_", "-"), type=f.type, default=f.default)
        return cls(**vars(ap.parse_args()))

    def snr(self, epoch):
        """The recordings become noisier over the first epochs."""
        return self.snr_start + (self.snr_end - self.snr_start) * min(1.0, epoch / self.snr_epochs)


# ---------------------------------------------------------------- data


class Clips(Dataset):
    """Clean recordings, (1, time) or (2, time)."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.waves = [self.record(i, g) for i in range(count)]

    @staticmethod
    def record(i, g):
        t = torch.arange(int(torch.randint(400, 800, (), generator=g))) / 800
        f1, f2 = (20 + 60 * torch.rand(2, generator=g)).tolist()
        voice = 0.3 * torch.sin(2 * math.pi * f1 * t) + 0.2 * torch.sin(2 * math.pi * f2 * t + 1)
        if i % 3 == 0:
            return voice[None]
        return torch.stack([voice, 0.6 * voice.roll(3)])

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        return i, self.waves[i]

    def loudness(self):
        return torch.cat([w.flatten() for w in self.waves]).square().mean().sqrt().item()


def stereo(wave):
    return wave if wave.shape[0] == 2 else wave.repeat(2, 1)


def add_noise(wave, snr, generator=None):
    noise = torch.randn(wave.shape, generator=generator)
    gain = wave.square().mean().sqrt() / 10 ** (snr / 20)
    return wave + gain * noise


def assemble(items, snr, loudness=1.0, repeatable=False):
    noisy, clean = [], []
    for i, wave in items:
        g = torch.Generator().manual_seed(i) if repeatable else None
        noisy.append(stereo(add_noise(wave, snr, g)).T / loudness)
        clean.append(stereo(wave).T / loudness)
    lengths = torch.tensor([len(c) for c in clean])
    join = partial(pad_sequence, batch_first=True)
    return join(noisy).transpose(1, 2), join(clean).transpose(1, 2), lengths


class Reshuffled(Sampler):
    """An order that depends on the seed and the epoch only, the same on every machine."""

    def __init__(self, size, seed):
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.size

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(torch.randperm(self.size, generator=g).tolist())


class Studio:
    def __init__(self, opt):
        self.opt = opt
        self.clips = Clips(opt.train_clips, seed=1)
        self.held = Clips(opt.valid_clips, seed=2)
        self.loudness = self.clips.loudness()
        self.order = Reshuffled(len(self.clips), opt.seed)

    def training(self, epoch):
        self.order.set_epoch(epoch)
        fn = partial(assemble, snr=self.opt.snr(epoch), loudness=self.loudness)
        return DataLoader(self.clips, self.opt.batch_size, sampler=self.order, collate_fn=fn)

    def validation(self):
        fn = partial(assemble, snr=self.opt.snr_end, loudness=self.loudness, repeatable=True)
        return DataLoader(self.held, self.opt.batch_size, collate_fn=fn)


# ---------------------------------------------------------------- network and objective


class Hush(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(2, hidden, 9, padding=4), nn.GELU(),
            nn.Conv1d(hidden, hidden, 9, padding=4), nn.GELU(), nn.Dropout(dropout),
            nn.Conv1d(hidden, 2, 9, padding=4),
        )

    def forward(self, x):
        return x + self.body(x)


def time_mask(lengths, size):
    return (torch.arange(size)[None] < lengths[:, None])[:, None].float()


def si_sdr(pred, target, eps=1e-6):
    """Scale-invariant signal-to-distortion ratio in dB, for signals that are zero where there is padding."""
    scale = (pred * target).sum(-1, keepdim=True) / (target.square().sum(-1, keepdim=True) + eps)
    wanted = scale * target
    ratio = (wanted.square().sum(-1) + eps) / ((pred - wanted).square().sum(-1) + eps)
    return 10 * torch.log10(ratio)


def frames(x, size=128):
    return x.unfold(-1, size, size // 2) * torch.hann_window(size)


class HushLoss(nn.Module):
    def __init__(self, wave, spec, sdr):
        super().__init__()
        self.wave, self.spec, self.sdr = wave, spec, sdr

    def spectral(self, pred, target, mask):
        p = torch.fft.rfft(frames(pred), norm="ortho").abs()
        t = torch.fft.rfft(frames(target), norm="ortho").abs()
        gap = (p - t).square().mean(-1)
        heard = (frames(mask) > 0).any(-1).float()
        return (gap * heard).sum() / (2 * heard.sum())

    def forward(self, pred, target, lengths):
        mask = time_mask(lengths, pred.shape[-1])
        pred = pred * mask
        wave = (pred - target).abs().sum() / (2 * mask.sum())
        loss = self.wave * wave + self.spec * self.spectral(pred, target, mask)
        return loss - self.sdr * si_sdr(pred, target).mean()


# ---------------------------------------------------------------- loop


@torch.no_grad()
def validate(net, loader):
    net.eval()
    gains = []
    for noisy, clean, lengths in loader:
        out = net(noisy) * time_mask(lengths, noisy.shape[-1])
        gains.append((si_sdr(out, clean) - si_sdr(noisy, clean)).mean(1))
    return torch.cat(gains).mean().item()


def train(opt):
    torch.manual_seed(opt.seed)
    studio = Studio(opt)
    valid = studio.validation()
    net = Hush(opt.hidden, opt.dropout)
    smooth = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(opt.ema))
    loss_fn = HushLoss(opt.w_wave, opt.w_spec, opt.w_sdr)
    optimizer = torch.optim.Adam(net.parameters(), lr=opt.lr)
    best = -math.inf
    for epoch in range(opt.epochs):
        net.train()
        total = torch.zeros(())
        for noisy, clean, lengths in studio.training(epoch):
            optimizer.zero_grad()
            loss = loss_fn(net(noisy), clean, lengths)
            loss.backward()
            optimizer.step()
            smooth.update_parameters(net)
            total += loss.detach() * len(lengths)
        gain = validate(smooth, valid)
        print(f"epoch {epoch}: loss {total / opt.train_clips:.4f}, {gain:+.2f} dB")
        if gain > best:
            best = gain
            torch.save({"net": smooth.module.state_dict(), "loudness": studio.loudness, "gain": gain}, opt.save)


if __name__ == "__main__":
    train(Options.from_command_line())
