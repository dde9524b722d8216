import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, dim=2, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim + 1, width), nn.SiLU(), nn.Linear(width, width),
                                  nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.body(torch.cat([x, t], dim=1))


class CosineDiffusion:
    def __init__(self, prediction):
        self.prediction = prediction

    def coefficients(self, t):
        return torch.cos(t * torch.pi / 2), torch.sin(t * torch.pi / 2)

    def target(self, x0, noise, a, s):
        if self.prediction == "eps":
            return noise
        if self.prediction == "x0":
            return x0
        return a * noise - s * x0

    def loss(self, net, x0):
        t = torch.rand(len(x0), 1, device=x0.device).clamp(1e-3, 1 - 1e-3)
        a, s = self.coefficients(t)
        noise = torch.randn_like(x0)
        return F.mse_loss(net(a * x0 + s * noise, t), self.target(x0, noise, a, s))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prediction", choices=["eps", "x0", "v"], default="v")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    diffusion, net = CosineDiffusion(args.prediction), Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    train = DataLoader(TensorDataset(torch.load("moons_train.pt")), 512, shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("moons_valid.pt")), 512)
    for epoch in range(args.epochs):
        net.train()
        for (x0,) in train:
            optimizer.zero_grad()
            diffusion.loss(net, x0.to(device)).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            losses = torch.stack([diffusion.loss(net, x.to(device)) for (x,) in valid])
        print(epoch, losses.mean().item())


if __name__ == "__main__":
    main()
