import torch
from torch import nn


def batches(x, y, size, shuffle=False):
    idx = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for chunk in idx.split(size):
        yield x[chunk], y[chunk]


def main():
    y = torch.arange(8).repeat_interleave(500)
    x = torch.randn(4000, 20) + y[:, None]
    y_val = torch.randint(0, 8, (400,))
    x_val = torch.randn(400, 20) + y_val[:, None]
    net = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 8))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(15):
        net.train()
        for xb, yb in batches(x, y, 128, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            hits = [net(xb).argmax(1) == yb for xb, yb in batches(x_val, y_val, 200)]
        print(epoch, torch.cat(hits).float().mean().item())


if __name__ == "__main__":
    main()
