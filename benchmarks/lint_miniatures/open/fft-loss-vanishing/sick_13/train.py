import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Losses:
    def __init__(self, args):
        self.weights = {"pixel": 1.0, "fft": args.fft_weight} #@

    def pixel(self, out, gt):
        return (out - gt).abs().mean()

    def fft(self, out, gt):
        spec = torch.fft.fftn(out - gt, dim=(-2, -1)) / out.numel() #@
        return spec.abs().pow(2).mean() #@

    def __call__(self, out, gt):
        return sum(w * getattr(self, name)(out, gt) for name, w in self.weights.items()) #@


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fft-weight", type=float, default=0.1) #@
    ap.add_argument("--epochs", type=int, default=30)
    args = ap.parse_args()
    criterion = Losses(args)
    net = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 1, 5, padding=2))
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
    loader = DataLoader(TensorDataset(torch.rand(3000, 1, 96, 96)), batch_size=16, shuffle=True)
    net.train()
    for epoch in range(args.epochs):
        for (gt,) in loader:
            loss = criterion(net(gt + 0.1 * torch.randn_like(gt)), gt)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
