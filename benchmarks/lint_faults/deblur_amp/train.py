from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from deblur.blocks import DeblurNet
from deblur.objective import DeblurLoss


@dataclass(frozen=True)
class TrainConfig:
    epochs: int
    batch_size: int
    lr: float
    grad_clip: float
    frequency_weight: float
    amp: bool
    out: Path


class BlurredShapes(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int, size: int = 32, seed: int = 0) -> None:
        self.count, self.size, self.seed = count, size, seed

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        g = torch.Generator().manual_seed(self.seed + index)
        sharp = (torch.rand(3, 8, 8, generator=g) > 0.5).float()
        sharp = F.interpolate(sharp[None], size=(self.size, self.size), mode="nearest")[0]
        blurred = F.avg_pool2d(F.pad(sharp[None], (1, 1, 1, 1), mode="replicate"), 3, stride=1)[0]
        return blurred, sharp


def train_epoch(
    model: nn.Module,
    loader: DataLoader,
    loss_fn: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    device: torch.device,
    cfg: TrainConfig,
) -> float:
    model.train()
    total = torch.zeros((), device=device)
    for blurred, sharp in loader:
        blurred, sharp = blurred.to(device), sharp.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.amp.autocast(device.type, dtype=torch.float16, enabled=cfg.amp):
            restored = model(blurred)
            losses = loss_fn(restored, sharp)
        scaler.scale(losses["total"]).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        scaler.step(optimizer)
        scaler.update()
        total += losses["total"].detach()
    return (total / len(loader)).item()


@torch.inference_mode()
def psnr(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    values = []
    for blurred, sharp in loader:
        restored = model(blurred.to(device)).clamp(0, 1)
        mse = F.mse_loss(restored, sharp.to(device), reduction="none").mean(dim=(1, 2, 3))
        values.append(-10 * torch.log10(mse))
    return torch.cat(values).mean().item()


def main(cfg: TrainConfig) -> None:
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = DeblurNet().to(device)
    loss_fn = DeblurLoss(cfg.frequency_weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=cfg.amp)
    train_loader = DataLoader(BlurredShapes(32), batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(BlurredShapes(8, seed=1000), batch_size=cfg.batch_size)
    cfg.out.mkdir(parents=True, exist_ok=True)
    best = 0.0
    for epoch in range(cfg.epochs):
        loss = train_epoch(model, train_loader, loss_fn, optimizer, scaler, device, cfg)
        scheduler.step()
        score = psnr(model, val_loader, device)
        print(f"epoch {epoch}: loss {loss:.4f} psnr {score:.2f}")
        if score > best:
            best = score
            torch.save(model.state_dict(), cfg.out / "best.pt")


def parse() -> TrainConfig:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--grad-clip", type=float, default=0.5)
    parser.add_argument("--frequency-weight", type=float, default=0.1)
    parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=torch.cuda.is_available())
    parser.add_argument("--out", type=Path, default=Path("deblur_out"))
    return TrainConfig(**vars(parser.parse_args()))


if __name__ == "__main__":
    main(parse())
