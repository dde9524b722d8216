import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(pretrained, classes):
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, classes))
    state = torch.load(pretrained, map_location="cpu")
    backbone = {k: v for k, v in state.items() if not k.startswith("4.")}
    missing, unexpected = net.load_state_dict(backbone, strict=False)
    print("initialised from", pretrained, "new layers:", missing, "ignored:", unexpected)
    return net


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrained", default="pretrained.pt")
    ap.add_argument("--epochs", type=int, default=10)
    args = ap.parse_args()
    x, y = torch.randn(1000, 64), torch.randint(0, 3, (1000,))
    train_dl = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=20, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)
    net = build(args.pretrained, 3)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for epoch in range(args.epochs):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.cross_entropy(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.cat([net(xb).argmax(1) == yb for xb, yb in val_dl]).float().mean().item())
    torch.save(net.state_dict(), "finetuned.pt")


if __name__ == "__main__":
    main()
