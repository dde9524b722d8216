import json
import sys
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from experiment import Experiment
from network import Forecaster


class Waves(Dataset):
    def __init__(self, count, length, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(length)[None] / 6.0
        rate = 0.5 + torch.rand(count, 1, generator=g)
        phase = 6.28 * torch.rand(count, 1, generator=g)
        self.values = torch.sin(rate * t + phase) + 0.05 * torch.randn(count, length, generator=g)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


class Forecast(Experiment):
    def build_model(self):
        c = self.cfg
        return Forecaster(c.context, c.horizon, c.width, c.layers, c.dropout)

    def build_loaders(self):
        length = self.cfg.context + self.cfg.horizon
        train, val = Waves(self.cfg.series, length, seed=0), Waves(32, length, seed=1)
        return DataLoader(train, self.cfg.batch_size, shuffle=True), DataLoader(val, self.cfg.batch_size)

    def loss(self, model, batch):
        past, future = batch[:, : self.cfg.context], batch[:, self.cfg.context :]
        return F.smooth_l1_loss(model(past).float(), future)


def read_settings(path, overrides):
    with open(path) as f:
        settings = json.load(f)
    for item in overrides:
        name, _, value = item.partition("=")
        if name not in settings:
            sys.exit(f"unknown setting {name}")
        settings[name] = type(settings[name])(json.loads(value)) if not isinstance(settings[name], str) else value
    return SimpleNamespace(**settings)


if __name__ == "__main__":
    path, *overrides = sys.argv[1:] or ["settings.json"]
    Forecast(read_settings(path, overrides)).run()
