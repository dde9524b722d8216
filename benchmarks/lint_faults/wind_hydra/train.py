"""python train.py [diffusion=eps_cosine] [optim.lr=1e-3] [resume=checkpoints/last.pt]"""
import math
from pathlib import Path

import hydra
import torch
from omegaconf import DictConfig, OmegaConf
from torch.utils.data import DataLoader

from wind.data import build_datasets
from wind.diffusion import Diffusion
from wind.ema import EMA
from wind.net import Denoiser

DEFAULTS = OmegaConf.create({
    "train": {"log_every": 10, "grad_clip": 1.0},
    "sampler": {"count": 8, "stride": 10},
})
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Session:
    def __init__(self, cfg: DictConfig):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        train, val, self.scale = build_datasets(cfg.data, cfg.seed)
        self.train_loader = DataLoader(train, cfg.train.batch_size, shuffle=True, drop_last=True)
        self.val_loader = DataLoader(val, cfg.train.batch_size)
        self.model = Denoiser(2, **cfg.model).to(self.device)
        self.ema = EMA(self.model, cfg.ema.decay, cfg.ema.warmup)
        self.diffusion = Diffusion(**cfg.diffusion)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=cfg.optim.lr, weight_decay=cfg.optim.weight_decay
        )
        total = cfg.train.epochs * len(self.train_loader)
        warm = cfg.optim.warmup_steps

        def factor(step):
            return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, total - warm))))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)
        self.amp = self.device.type == "cuda" and cfg.precision in DTYPES
        self.dtype = DTYPES.get(cfg.precision, torch.float32)
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.amp and cfg.precision == "fp16")
        self.epoch = self.step = 0
        self.best = float("inf")

    def forward_loss(self, net, x0, t, noise):
        with torch.autocast(self.device.type, dtype=self.dtype, enabled=self.amp):
            output = net(self.diffusion.noised(x0, t, noise), t)
        return self.diffusion.loss(output, x0, t, noise)

    def train_step(self, x0):
        t = torch.randint(0, self.diffusion.steps, (len(x0),), device=self.device)
        loss = self.forward_loss(self.model, x0, t, torch.randn_like(x0))
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.train.grad_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.ema.update(self.model)
        return loss.detach()

    def run_epoch(self):
        self.model.train()
        for x0 in self.train_loader:
            loss = self.train_step(x0.to(self.device))
            self.step += 1
            if self.step % self.cfg.train.log_every == 0:
                print(f"epoch {self.epoch} step {self.step} loss {loss.item():.4f}")

    @torch.no_grad()
    def evaluate(self):
        """Loss of the averaged weights, with the same times and noise at each call."""
        g = torch.Generator().manual_seed(self.cfg.seed + 1)
        total, count = 0.0, 0
        for x0 in self.val_loader:
            t = torch.randint(0, self.diffusion.steps, (len(x0),), generator=g).to(self.device)
            noise = torch.randn(x0.shape, generator=g).to(self.device)
            total += self.forward_loss(self.ema.shadow, x0.to(self.device), t, noise).item() * len(x0)
            count += len(x0)
        return total / count

    def preview(self):
        shape = (self.cfg.sampler.count, 2, self.cfg.data.hours)
        z = self.diffusion.sample(self.ema.shadow, shape, self.device, self.cfg.sampler.stride)
        wind = self.scale.inverse(z)
        print(f"sampled speed {wind[:, 0].mean():.2f} +- {wind[:, 0].std():.2f} m/s, gust {wind[:, 1].mean():.2f}")

    def state_dict(self):
        parts = {k: getattr(self, k).state_dict() for k in ("model", "ema", "optimizer", "scheduler", "scaler")}
        return {**parts, "epoch": self.epoch, "step": self.step, "best": self.best}

    def restore(self, path):
        state = torch.load(path, map_location=self.device)
        for k in ("model", "ema", "optimizer", "scheduler", "scaler"):
            getattr(self, k).load_state_dict(state[k])
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]

    def fit(self):
        out = Path(self.cfg.out)
        out.mkdir(parents=True, exist_ok=True)
        while self.epoch < self.cfg.train.epochs:
            self.run_epoch()
            self.epoch += 1
            loss = self.evaluate()
            print(f"epoch {self.epoch}: validation {loss:.4f}")
            self.preview()
            if loss < self.best:
                self.best = loss
                torch.save({"model": self.ema.shadow.state_dict(), "loss": loss}, out / "best.pt")
            torch.save(self.state_dict(), out / "last.pt")


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(cfg: DictConfig) -> None:
    OmegaConf.set_struct(cfg, False)
    cfg = OmegaConf.merge(DEFAULTS, cfg)
    torch.manual_seed(cfg.seed)
    session = Session(cfg)
    if cfg.resume:
        session.restore(cfg.resume)
    session.fit()


if __name__ == "__main__":
    main()
