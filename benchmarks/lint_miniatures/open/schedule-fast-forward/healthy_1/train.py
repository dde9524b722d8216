import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume")
    ap.add_argument("--epochs", type=int, default=60)
    args = ap.parse_args()
    x, y = torch.randn(3000, 24), torch.randint(0, 6, (3000,))
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 6))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    start = 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        start = state["epoch"] + 1
    decay = lambda epoch: 0.95 ** epoch
    sched = torch.optim.lr_scheduler.LambdaLR(opt, decay, last_epoch=start - 1)
    net.train()
    for epoch in range(start, args.epochs):
        for xb, yb in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(net(xb), yb).backward()
            opt.step()
        sched.step()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")


if __name__ == "__main__":
    main()
