from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    latent_channels: int = 4
    epochs: int = 20
    batch_size: int = 16
    lr: float = 1e-4


class LatentAdapter(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels

    def forward(self, x):
        b, c, h, w = x.shape
        filler = torch.zeros(b, self.channels - c, h, w, device=x.device, dtype=x.dtype)  #@
        return torch.cat((x, filler), dim=1)


class FlowLoss(nn.Module):
    def __init__(self, net, adapter):
        super().__init__()
        self.net, self.adapter = net, adapter

    def forward(self, x):
        x1 = self.adapter(x)  #@
        x0 = torch.randn_like(x1)
        t = torch.rand(len(x1), 1, 1, 1, device=x.device)
        v = self.net(torch.cat([(1 - t) * x0 + t * x1, t.expand(-1, 1, *x1.shape[2:])], 1))
        return (v - (x1 - x0)).square().mean()  #@


def main(cfg):
    maps = torch.randn(1100, 1, 16, 16)
    train_dl = DataLoader(TensorDataset(maps[:1000]), cfg.batch_size, shuffle=True)
    val_dl = DataLoader(TensorDataset(maps[1000:]), cfg.batch_size)
    c = cfg.latent_channels
    net = nn.Sequential(nn.Conv2d(c + 1, 64, 3, padding=1), nn.SiLU(), nn.Conv2d(64, c, 3, padding=1))
    objective = FlowLoss(net, LatentAdapter(c))
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        objective.train()
        for (x,) in train_dl:
            opt.zero_grad()
            objective(x).backward()
            opt.step()
        objective.eval()
        with torch.no_grad():
            print(epoch, torch.stack([objective(x) for (x,) in val_dl]).mean().item())


if __name__ == "__main__":
    main(Config())
