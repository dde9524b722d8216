import math
import os

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from diffusion import GaussianDiffusion
from net import Denoiser
from signals import get_dataloaders

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def lr_lambda(warmup, total):
    def fn(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, total - warmup))))
    return fn


class DiffusionTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.train_loader, self.val_loader = get_dataloaders(cfg)
        self.model = Denoiser(cfg.data.channels, cfg.model.hidden, cfg.model.blocks).to(self.device)
        self.ema = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(cfg.train.ema))
        self.diffusion = GaussianDiffusion(cfg.diffusion.timesteps, cfg.diffusion.min_snr_gamma, self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.train.lr, betas=tuple(cfg.train.betas))
        self.accum = cfg.train.accum
        self.updates_per_epoch = len(self.train_loader) // self.accum
        total = cfg.train.epochs * self.updates_per_epoch
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lr_lambda(cfg.train.warmup, total))
        self.dtype = DTYPES[cfg.train.precision]
        self.epoch, self.best, self.bad = 0, float("inf"), 0

    def autocast(self):
        return torch.autocast(self.device, dtype=self.dtype, enabled=self.dtype is not torch.float32)

    def losses(self, net, x0, t, noise):
        x_t = self.diffusion.add_noise(x0, noise, t)
        with self.autocast():
            out = net(x_t, t)
        out = out.float()
        target = self.diffusion.velocity(x0, noise, t)
        mse = ((out - target) ** 2).flatten(1).mean(1)
        clean, _ = self.diffusion.recover(x_t, out, t)
        smooth = (clean.diff(dim=-1) - x0.diff(dim=-1)).abs().flatten(1).mean(1)
        return (self.diffusion.weight(t) * (mse + self.cfg.loss.smooth_weight * smooth)).mean()

    def update(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.train.clip)
        self.opt.step()
        self.sched.step()
        self.opt.zero_grad(set_to_none=True)
        self.ema.update_parameters(self.model)

    def train_epoch(self):
        self.model.train()
        running = torch.zeros((), device=self.device)
        batches = self.updates_per_epoch * self.accum
        for i, (x0,) in enumerate(self.train_loader):
            if i == batches:
                break
            x0 = x0.to(self.device)
            t = torch.randint(self.diffusion.T, (len(x0),), device=self.device)
            loss = self.losses(self.model, x0, t, torch.randn_like(x0))
            (loss / self.accum).backward()
            running += loss.detach()
            if (i + 1) % self.accum == 0:
                self.update()
            if (i + 1) % self.cfg.train.log_every == 0:
                print(f"  epoch {self.epoch} batch {i + 1} loss {running.item() / (i + 1):.4f}")
        return running.item() / batches

    @torch.no_grad()
    def validate(self):
        """The EMA's loss on fixed times and noise."""
        self.ema.eval()
        g = torch.Generator().manual_seed(1234)
        total, count = 0.0, 0
        for (x0,) in self.val_loader:
            t = torch.randint(self.diffusion.T, (len(x0),), generator=g).to(self.device)
            noise = torch.randn(x0.shape, generator=g).to(self.device)
            loss = self.losses(self.ema.module, x0.to(self.device), t, noise)
            total, count = total + loss.item() * len(x0), count + len(x0)
        return total / count

    def state(self):
        return {
            "model": self.model.state_dict(),
            "ema": self.ema.state_dict(),
            "opt": self.opt.state_dict(),
            "sched": self.sched.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
            "bad": self.bad,
        }

    def save(self, name):
        os.makedirs(self.cfg.io.out, exist_ok=True)
        torch.save(self.state(), os.path.join(self.cfg.io.out, name))

    def load(self, path):
        ckpt = torch.load(path, map_location=self.device)
        self.model.load_state_dict(ckpt["model"])
        self.ema.load_state_dict(ckpt["ema"])
        self.opt.load_state_dict(ckpt["opt"])
        self.sched.load_state_dict(ckpt["sched"])
        self.epoch = ckpt["epoch"]
        self.best = ckpt["best"]
        self.bad = ckpt["bad"]

    def fit(self):
        while self.epoch < self.cfg.train.epochs:
            train_loss = self.train_epoch()
            val_loss = self.validate()
            self.epoch += 1
            improved = val_loss < self.best
            self.best, self.bad = (val_loss, 0) if improved else (self.best, self.bad + 1)
            self.save("last.pt")
            if improved:
                self.save("best.pt")
            print(f"epoch {self.epoch}: train {train_loss:.4f} val {val_loss:.4f}")
            if self.bad >= self.cfg.train.patience:
                print("no improvement, stopping")
                break
        shape = (4, self.cfg.data.channels, self.cfg.data.length)
        self.ema.eval()
        samples = self.diffusion.sample(self.ema.module, shape, self.cfg.diffusion.sample_steps, self.device)
        print(f"samples: mean {samples.mean():.3f} std {samples.std():.3f}")
