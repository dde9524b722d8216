import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--epochs", type=int, default=10)
    return p.parse_args()


def main():
    args = get_args()
    loader = DataLoader(TensorDataset(torch.randn(3000, 25), torch.randn(3000, 5)), batch_size=100, shuffle=True)
    net = nn.Sequential(nn.Linear(25, 75), nn.ReLU(), nn.Linear(75, 5)).cuda()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    for epoch in range(args.epochs):
        net.train()
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
                loss = nn.functional.mse_loss(net(x), y)
            if args.amp:
                scaler.scale(loss).backward() #@
            else:
                loss.backward()
            opt.step() #@
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
