import json
import os
from dataclasses import asdict, dataclass, fields

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from losses import DenoisingLoss, snr_db
from net import Denoiser
from signals import SnrCurriculum, StripDataset, split_records


@dataclass
class Config:
    n_records: int = 80
    val_fraction: float = 0.2
    length: int = 256
    batch_size: int = 8
    epochs: int = 4
    lr: float = 2e-3
    min_lr: float = 1e-5
    weight_decay: float = 1e-4
    max_norm: float = 1.0
    w_spec: float = 0.5
    w_slope: float = 0.3
    snr_start: float = 12.0
    snr_end: float = 0.0
    curriculum_epochs: int = 2
    precision: str = "32-true"
    devices: int = 1
    seed: int = 3
    log_every: int = 4
    out: str = "runs/ecg"
    resume: str = ""

    @classmethod
    def from_file(cls, path):
        with open(path) as f:
            values = json.load(f)
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown settings in {path}: {sorted(unknown)}")
        return cls(**values)


def build_data(cfg):
    train_ids, val_ids = split_records(cfg.n_records, cfg.val_fraction, cfg.seed)
    train = StripDataset(train_ids, cfg.length, cfg.snr_start, fresh_noise=True)
    val = StripDataset(val_ids, cfg.length, cfg.snr_end, fresh_noise=False)
    return (
        DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True),
        DataLoader(val, batch_size=cfg.batch_size),
        SnrCurriculum(train, cfg.snr_start, cfg.snr_end, cfg.curriculum_epochs),
    )


def train_epoch(fabric, cfg, model, optimizer, scheduler, loader, criterion, step):
    model.train()
    for noisy, clean in loader:
        loss, parts = criterion(model(noisy), clean)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=cfg.max_norm)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        if step % cfg.log_every == 0:
            shown = " ".join(f"{k} {v.item():.4f}" for k, v in parts.items())
            fabric.print(f"step {step} loss {loss.item():.4f} {shown}")
        step += 1
    return step


@torch.no_grad()
def validate(fabric, model, loader):
    model.eval()
    total, count = torch.zeros((), device=fabric.device), torch.zeros((), device=fabric.device)
    for noisy, clean in loader:
        values = snr_db(model(noisy), clean)
        total += values.sum()
        count += len(values)
    total, count = fabric.all_reduce(total, reduce_op="sum"), fabric.all_reduce(count, reduce_op="sum")
    model.train()
    return (total / count).item()


def run(cfg):
    fabric = Fabric(accelerator="auto", devices=cfg.devices, precision=cfg.precision)
    fabric.launch()
    fabric.seed_everything(cfg.seed)

    train_loader, val_loader, curriculum = build_data(cfg)
    model = Denoiser(leads=StripDataset.leads, length=cfg.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    model, optimizer = fabric.setup(model, optimizer)
    train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, T_max=cfg.epochs * len(train_loader), eta_min=cfg.min_lr
    )
    criterion = DenoisingLoss(cfg.w_spec, cfg.w_slope)

    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "epoch": 0, "step": 0, "best": -1e9}
    if cfg.resume:
        fabric.load(cfg.resume, state)

    for epoch in range(state["epoch"], cfg.epochs):
        curriculum.set_epoch(epoch)
        state["step"] = train_epoch(
            fabric, cfg, model, optimizer, scheduler, train_loader, criterion, state["step"]
        )
        snr = validate(fabric, model, val_loader)
        fabric.print(f"epoch {epoch}: validation SNR {snr:.2f} dB")
        state["epoch"] = epoch + 1
        better = snr > state["best"]
        state["best"] = max(snr, state["best"])
        fabric.save(os.path.join(cfg.out, "last.ckpt"), state)
        if better:
            fabric.save(os.path.join(cfg.out, "best.ckpt"), {"model": model, "config": asdict(cfg)})


if __name__ == "__main__":
    import sys

    run(Config.from_file(sys.argv[1]) if len(sys.argv) > 1 else Config())
