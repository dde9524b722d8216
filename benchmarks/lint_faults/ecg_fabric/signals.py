"""Synthetic two-lead ECG strips, clean and with muscle noise, mains hum and baseline drift."""
import math

import torch
from torch.utils.data import Dataset


def heartbeat(t, rate, phase):
    """One lead: a train of narrow R peaks with a broad T wave behind each."""
    cycle = (t * rate + phase) % 1.0
    r = torch.exp(-((cycle - 0.3) ** 2) / 2e-4)
    wave = 0.3 * torch.exp(-((cycle - 0.6) ** 2) / 4e-3)
    return r + wave


class StripDataset(Dataset):
    """Pairs (noisy, clean), each (2, length). The clean strip belongs to the index, its noise too unless fresh."""

    leads = 2

    def __init__(self, records, length, snr_db, fresh_noise):
        self.records = list(records)
        self.length = length
        self.snr_db = snr_db
        self.fresh_noise = fresh_noise

    def __len__(self):
        return len(self.records)

    def clean(self, record):
        g = torch.Generator().manual_seed(record)
        t = torch.arange(self.length) / 128.0
        rate = 0.9 + 0.8 * torch.rand((), generator=g)
        phase = torch.rand((), generator=g)
        first = heartbeat(t, rate, phase)
        second = 0.6 * first - 0.2 * heartbeat(t, rate, phase + 0.1)
        return torch.stack([first, second])

    def noise(self, record):
        g = None if self.fresh_noise else torch.Generator().manual_seed(10_000_019 + record)
        t = torch.arange(self.length) / 128.0
        muscle = torch.randn(self.leads, self.length, generator=g)
        hum = torch.sin(2 * math.pi * 50 * t + 6.28 * torch.rand((), generator=g))
        drift = torch.sin(2 * math.pi * 0.3 * t + 6.28 * torch.rand((), generator=g))
        return muscle + 0.5 * hum + drift

    def __getitem__(self, i):
        record = self.records[i]
        clean, noise = self.clean(record), self.noise(record)
        gain = clean.std() / noise.std() * 10 ** (-self.snr_db / 20)
        return clean + gain * noise, clean


def split_records(n, val_fraction, seed):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()
    held = int(n * val_fraction)
    return order[held:], order[:held]


class SnrCurriculum:
    """Starts with mild noise and lowers the SNR linearly to the final one over the first epochs."""

    def __init__(self, dataset, start_db, end_db, epochs):
        self.dataset, self.start_db, self.end_db, self.epochs = dataset, start_db, end_db, epochs

    def set_epoch(self, epoch):
        t = min(1.0, epoch / max(1, self.epochs))
        self.dataset.snr_db = self.start_db + t * (self.end_db - self.start_db)
