import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from utils import load_config, seed_all


def main():
    cfg = load_config("config.yaml")  #@
    seed_all(cfg["seed"])
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
