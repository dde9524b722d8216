import math

import torch
from torch.utils.data import DataLoader, TensorDataset, random_split


def make_signals(n, channels, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, length)
    freq = 1 + 5 * torch.rand(n, channels, 1, generator=g)
    phase = 2 * math.pi * torch.rand(n, channels, 1, generator=g)
    return torch.sin(2 * math.pi * freq * t + phase)


def get_dataloaders(cfg):
    d = cfg.data
    whole = TensorDataset(make_signals(d.n_train + d.n_val, d.channels, d.length, cfg.seed))
    split = torch.Generator().manual_seed(cfg.seed)
    train, val = random_split(whole, [d.n_train, d.n_val], generator=split)
    bs = cfg.train.batch_size
    return (
        DataLoader(train, batch_size=bs, shuffle=True, drop_last=True),
        DataLoader(val, batch_size=bs, shuffle=False),
    )
