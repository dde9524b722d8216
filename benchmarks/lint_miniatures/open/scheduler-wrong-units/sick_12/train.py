from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 30
    max_lr: float = 0.01
    batch_size: int = 64


def make_scheduler(optimizer, cfg, steps_per_epoch):
    return OneCycleLR(optimizer, max_lr=cfg.max_lr, epochs=cfg.epochs, steps_per_epoch=steps_per_epoch) #@


def run_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step() #@


def main():
    cfg = Config()
    data = TensorDataset(torch.randn(6400, 50), torch.randint(0, 5, (6400,)))
    loader = DataLoader(data, batch_size=cfg.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.max_lr / 25)
    scheduler = make_scheduler(optimizer, cfg, len(loader)) #@
    for epoch in range(cfg.epochs):
        run_epoch(model, loader, optimizer)
        scheduler.step() #@
        print(epoch, scheduler.get_last_lr())


if __name__ == "__main__":
    main()
