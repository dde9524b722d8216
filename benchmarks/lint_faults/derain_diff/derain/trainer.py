from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from .config import Config
from .data import RainPairs
from .diffusion import Diffusion, edge_loss
from .ema import EMA
from .unet import DerainNet


def psnr(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Per image, for images in [0, 1]."""
    return -10 * (a - b).pow(2).mean((1, 2, 3)).clamp(min=1e-10).log10()


class Trainer:
    def __init__(self, cfg: Config, device: torch.device, rank: int = 0, world: int = 1) -> None:
        self.cfg, self.device, self.rank, self.world = cfg, device, rank, world
        self.net = DerainNet(cfg.model.width, cfg.model.heads).to(device)
        self.ema = EMA(self.net, cfg.train.ema_decay)
        self.model = DistributedDataParallel(self.net) if world > 1 else self.net
        if world > 1:
            self.ema.module.load_state_dict(self.net.state_dict())
        self.diffusion = Diffusion(cfg.diffusion.timesteps, device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=cfg.train.lr, weight_decay=cfg.train.weight_decay)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, mode="max", factor=0.5, patience=cfg.train.plateau_patience
        )
        self.use_amp = cfg.train.amp and device.type == "cuda"
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.use_amp)
        self.epoch, self.best = 0, float("-inf")
        self.out = Path(cfg.train.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self._make_loaders()

    def _make_loaders(self) -> None:
        d = self.cfg.data
        train, val = RainPairs(d.train_images, d.size, 1, augment=True), RainPairs(d.val_images, d.size, 2)
        self.sampler = DistributedSampler(train, self.world, self.rank, shuffle=True)
        self.train_loader = DataLoader(train, d.batch_size, sampler=self.sampler, drop_last=True)
        self.val_loader = DataLoader(val, d.batch_size, sampler=range(self.rank, len(val), self.world))

    def _loss(self, rainy: torch.Tensor, clean: torch.Tensor) -> torch.Tensor:
        xt, target, t = self.diffusion.training_pair(clean)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.use_amp):
            out = self.model(xt, rainy, t)
        out = out.float()
        x0, _ = self.diffusion.to_clean(xt, out, t)
        return F.mse_loss(out, target) + self.cfg.train.edge_weight * edge_loss(x0, clean)

    def _step(self, loss: torch.Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.cfg.train.grad_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.ema.update(self.net)

    def train_epoch(self) -> float:
        self.model.train()
        self.sampler.set_epoch(self.epoch)
        total = torch.zeros((), device=self.device)
        for rainy, clean in self.train_loader:
            loss = self._loss(rainy.to(self.device), clean.to(self.device))
            self._step(loss)
            total += loss.detach()
        return total.item() / len(self.train_loader)

    @torch.no_grad()
    def validate(self) -> float:
        """Mean PSNR of the averaged network over all images of all ranks."""
        sums = torch.zeros(2, device=self.device)
        for rainy, clean in self.val_loader:
            restored = self.diffusion.restore(self.ema.module, rainy.to(self.device), self.cfg.diffusion.sample_steps)
            values = psnr((restored + 1) / 2, (clean.to(self.device) + 1) / 2)
            sums += torch.stack([values.sum(), torch.tensor(float(len(values)), device=self.device)])
        if self.world > 1:
            dist.all_reduce(sums)
        return (sums[0] / sums[1]).item()

    def fit(self) -> None:
        while self.epoch < self.cfg.train.epochs:
            loss = self.train_epoch()
            score = self.validate()
            self.plateau.step(score)
            self.epoch += 1
            improved, self.best = score > self.best, max(score, self.best)
            if self.rank == 0:
                print(f"epoch {self.epoch}: loss {loss:.4f}, PSNR {score:.2f} dB")
                self.save(self.out / "last.pt")
                if improved:
                    torch.save(self.ema.module.state_dict(), self.out / "best_ema.pt")
            if self.optimizer.param_groups[0]["lr"] < self.cfg.train.stop_lr:
                break

    def save(self, path: Path) -> None:
        parts = ("net", "ema", "optimizer", "plateau", "scaler")
        state = {name: getattr(self, name).state_dict() for name in parts}
        torch.save({**state, "epoch": self.epoch, "best": self.best}, path)

    def load(self, path: str) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        for name in ("net", "ema", "optimizer", "plateau", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.best = state["epoch"], state["best"]
