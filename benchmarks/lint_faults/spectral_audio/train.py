"""Removes hum from spectrograms; settings in a dataclass, losses from the waveform's spectrum."""
import os
import sys
from dataclasses import dataclass, fields

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from nets import Vocoder


@dataclass
class Settings:
    epochs: int = 2
    batch: int = 8
    lr: float = 1e-3
    frames: int = 16
    bins: int = 20
    clip: float = 1.0
    spectral: float = 0.5
    ema: float = 0.9
    log: int = 4
    out: str = "hum_out"

    @classmethod
    def from_argv(cls, argv):
        types = {f.name: f.type for f in fields(cls)}
        pairs = (item.split("=", 1) for item in argv)
        return cls(**{name: types[name](value) for name, value in pairs})


class Hum(Dataset):
    def __init__(self, n, cfg, seed):
        self.n, self.cfg, self.seed = n, cfg, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        t = torch.linspace(0, 6.28, self.cfg.frames)[:, None]
        clean = torch.sin(t * (1 + 3 * torch.rand(self.cfg.bins, generator=g)) + 6.28 * torch.rand(1, generator=g))
        return clean + 0.5 * torch.sin(50 * t), clean


def spectral_distance(prediction, target):
    difference = torch.fft.rfft(prediction.float() - target.float(), dim=1, norm="ortho")
    return difference.abs().mean()


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(0)
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.use_half = self.device.type == "cuda"
        self.net = Vocoder(cfg.frames, cfg.bins).to(self.device)
        self.average = torch.optim.swa_utils.AveragedModel(
            self.net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(cfg.ema)
        )
        self.opt = torch.optim.NAdam(self.net.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.use_half)
        self.train_data = DataLoader(Hum(64, cfg, 0), cfg.batch, shuffle=True)
        self.test_data = DataLoader(Hum(16, cfg, 9000), cfg.batch)
        self.best = float("inf")
        os.makedirs(cfg.out, exist_ok=True)

    def objective(self, spec, clean):
        with torch.amp.autocast(self.device.type, dtype=torch.float16, enabled=self.use_half):
            restored = self.net(spec)
        return nn.functional.smooth_l1_loss(restored, clean) + self.cfg.spectral * spectral_distance(restored, clean)

    def update(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.cfg.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.average.update_parameters(self.net)
        return norm

    def test(self):
        self.average.eval()
        with torch.inference_mode():
            errors = [nn.functional.mse_loss(self.average(s.to(self.device)), c.to(self.device)) for s, c in self.test_data]
        return torch.stack(errors).mean().item()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.net.train()
            for i, (spec, clean) in enumerate(self.train_data):
                loss = self.objective(spec.to(self.device), clean.to(self.device))
                norm = self.update(loss)
                if i % self.cfg.log == 0:
                    print(f"{epoch}.{i} loss {loss.item():.4f} norm {norm.item():.3f}")
            error = self.test()
            print(f"{epoch} test {error:.5f}")
            if error < self.best:
                self.best = error
                torch.save(self.average.module.state_dict(), os.path.join(self.cfg.out, "best.pt"))


if __name__ == "__main__":
    Trainer(Settings.from_argv(sys.argv[1:])).fit()
