import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

from ckpt import load_checkpoint, save_checkpoint


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", default=None)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--lr", type=float, default=0.1)
    args = ap.parse_args()
    x, y = torch.randn(3000, 24), torch.randint(0, 6, (3000,))
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 6))
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    sched = CosineAnnealingLR(opt, T_max=args.epochs)
    start = 0
    if args.resume:
        start = load_checkpoint(args.resume, net)  #@
    net.train()
    for epoch in range(start, args.epochs):
        for xb, yb in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(net(xb), yb).backward()
            opt.step()
        sched.step()
        save_checkpoint("last.pt", net, opt, sched, epoch)


if __name__ == "__main__":
    main()
