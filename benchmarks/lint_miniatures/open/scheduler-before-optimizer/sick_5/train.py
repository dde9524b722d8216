from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    lr: float = 0.02
    gamma: float = 0.97
    epochs: int = 40
    batch_size: int = 32


def epochs_with_lr(cfg, scheduler): #@
    for epoch in range(cfg.epochs):
        scheduler.step() #@
        yield epoch, scheduler.get_last_lr()[0]


def main(cfg):
    ds = TensorDataset(torch.rand(960, 5), torch.rand(960, 1))
    loader = DataLoader(ds, batch_size=cfg.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 30), nn.Tanh(), nn.Linear(30, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=cfg.gamma)
    for epoch, lr in epochs_with_lr(cfg, scheduler): #@
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step() #@
        print(f"epoch {epoch} lr {lr:.5f} loss {loss.item():.5f}")


if __name__ == "__main__":
    main(Config())
