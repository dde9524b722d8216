import argparse

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEFAULTS = {"lr": 1e-3, "batch_size": 32, "epochs": 10, "weight_decay": 0.0}


def load_config(path, overrides):
    cfg = dict(DEFAULTS)
    with open(path) as f:
        cfg.update(yaml.safe_load(f) or {})
    cfg.update({k: yaml.safe_load(v) for k, v in (o.split("=", 1) for o in overrides)})
    return cfg


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="config.yaml")
    p.add_argument("overrides", nargs="*")
    args = p.parse_args()
    cfg = load_config(args.config, args.overrides)
    x = torch.randn(4000, 12)
    y = x.std(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:3500], y[:3500]), cfg["batch_size"], shuffle=True)
    val_dl = DataLoader(TensorDataset(x[3500:], y[3500:]), cfg["batch_size"])
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    for epoch in range(cfg["epochs"]):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.mse_loss(net(a), b) for a, b in val_dl]).mean().item())


if __name__ == "__main__":
    main()
