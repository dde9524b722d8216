import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA(nn.Module):
    def __init__(self, net, decay=0.995):
        super().__init__()
        self.avg = copy.deepcopy(net).requires_grad_(False)
        self.register_buffer("num_updates", torch.zeros((), dtype=torch.long))
        self.decay = decay

    @torch.no_grad()
    def update(self, net):
        self.num_updates += 1
        w = torch.clamp((1.0 + self.num_updates) / (10.0 + self.num_updates), max=self.decay)
        for a, p in zip(self.avg.parameters(), net.parameters()):
            a.lerp_(p, 1 - w)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume")
    args = ap.parse_args()
    x = torch.randn(2000, 10)
    y = x.square().sum(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=200)
    net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    ema, opt, start = EMA(net), torch.optim.Adam(net.parameters(), lr=1e-3), 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        for name, obj in (("net", net), ("ema", ema), ("opt", opt)):
            obj.load_state_dict(state[name])
        start = state["epoch"] + 1
    for epoch in range(start, 60):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
            ema.update(net)
        ema.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.mse_loss(ema.avg(a), b) for a, b in val_dl]).mean().item())
        torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")


if __name__ == "__main__":
    main()
