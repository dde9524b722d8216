import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def to_multispectral(gray, bands, jitter):
    channels = [] #@
    for _ in range(bands): #@
        channels.append(gray + jitter * torch.randn_like(gray)) #@
    return torch.cat(channels, dim=1) #@


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bands", type=int, default=6)
    p.add_argument("--jitter", type=float, default=0.01)
    p.add_argument("--epochs", type=int, default=20)
    args = p.parse_args()

    gray = torch.rand(3000, 1, 32, 32)
    labels = torch.randint(0, 7, (3000,))
    cubes = to_multispectral(gray, args.bands, args.jitter) #@
    loader = DataLoader(TensorDataset(cubes, labels), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(args.bands, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 7)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
