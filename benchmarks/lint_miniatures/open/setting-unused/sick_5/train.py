import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from model import ConvNet


def main(path="config.json"):
    with open(path) as f:
        cfg = json.load(f)
    x, y = torch.rand(1000, 3, 32, 32), torch.randint(0, 10, (1000,))
    train_dl = DataLoader(TensorDataset(x[:800], y[:800]), cfg["batch_size"], shuffle=True)
    val_dl = DataLoader(TensorDataset(x[800:], y[800:]), cfg["batch_size"])
    net = ConvNet(width=cfg["width"], dropout=cfg["dropout"])  #@
    opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])
    for epoch in range(cfg["epochs"]):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.cross_entropy(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.cat([net(xb).argmax(1) == yb for xb, yb in val_dl]).float().mean().item())


if __name__ == "__main__":
    main()
