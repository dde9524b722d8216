from __future__ import annotations

import tomllib
from pathlib import Path

import lightning as L
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self, dim: int, latent: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.SiLU(), nn.Linear(32, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.SiLU(), nn.Linear(32, dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def curves(n: int, dim: int, seed: int) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    phase, freq = torch.rand(n, 1, generator=g) * 6.28, 1 + 2 * torch.rand(n, 1, generator=g)
    return torch.sin(freq * torch.linspace(0, 6.28, dim) + phase)


def train_epoch(fabric: L.Fabric, model: nn.Module, optimizer, scheduler, loader, clip: float) -> Tensor:
    model.train()
    running = torch.zeros((), device=fabric.device)
    for (x,) in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=clip)
        optimizer.step()
        scheduler.step()
        running += loss.detach()
    return running / len(loader)


@torch.no_grad()
def validate(fabric: L.Fabric, model: nn.Module, loader) -> float:
    model.eval()
    error = torch.zeros((), device=fabric.device)
    for (x,) in loader:
        error += nn.functional.mse_loss(model(x), x)
    return fabric.all_reduce(error / len(loader)).item()


def main() -> None:
    cfg = tomllib.loads(Path(__file__).with_name("run.toml").read_text())
    fabric = L.Fabric(accelerator="auto", devices=1, precision=cfg["trainer"]["precision"])
    fabric.launch()
    fabric.seed_everything(cfg["seed"])

    dim = cfg["data"]["dim"]
    train_loader = DataLoader(
        TensorDataset(curves(256, dim, 0)), batch_size=cfg["data"]["batch_size"], shuffle=True
    )
    val_loader = DataLoader(TensorDataset(curves(64, dim, 1)), batch_size=cfg["data"]["batch_size"])
    model = Autoencoder(dim, cfg["model"]["latent"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"])
    epochs = cfg["trainer"]["epochs"]
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))
    model, optimizer = fabric.setup(model, optimizer)
    train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)

    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "epoch": 0, "best": float("inf")}
    last = Path(cfg["trainer"]["out_dir"]) / "last.ckpt"
    if cfg["trainer"]["resume"] and last.exists():
        fabric.load(last, state)

    for epoch in range(state["epoch"], epochs):
        train_loss = train_epoch(fabric, model, optimizer, scheduler, train_loader, cfg["optim"]["clip"])
        val_loss = validate(fabric, model, val_loader)
        fabric.print(f"epoch {epoch}: train {train_loss.item():.4f} val {val_loss:.4f}")
        state["epoch"] = epoch + 1
        if val_loss < state["best"]:
            state["best"] = val_loss
            fabric.save(last.with_name("best.ckpt"), state)
        fabric.save(last, state)


if __name__ == "__main__":
    main()
