import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(spec, registry, *args):
    spec = dict(spec)
    return getattr(registry, spec.pop("type"))(*args, **spec)


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    x = torch.randn(2500, 30)
    y = x.sum(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:2000], y[:2000]), shuffle=True, **cfg["loader"])
    val_dl = DataLoader(TensorDataset(x[2000:], y[2000:]), **cfg["loader"])
    net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = build(cfg["optimizer"], torch.optim, net.parameters())
    sched = build(cfg["scheduler"], torch.optim.lr_scheduler, opt)
    for epoch in range(cfg["epochs"]):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
        sched.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.mse_loss(net(a), b) for a, b in val_dl]).mean().item())


if __name__ == "__main__":
    main()
