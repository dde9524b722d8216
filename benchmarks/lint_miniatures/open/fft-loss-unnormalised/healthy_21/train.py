from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 50
    batch_size: int = 16
    lr: float = 2e-4
    fft_weight: float = 0.1
    width: int = 64


class FFTLoss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, pred, target):
        diff = torch.fft.rfft2(pred.float() - target.float())
        h, w = pred.shape[-2:]
        diff = diff / (h * w) ** 0.5
        return self.weight * diff.abs().mean()


class SRNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 5, padding=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="bicubic") + self.net(x)


def main(cfg):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SRNet(cfg.width).to(device)
    fft_loss = FFTLoss(cfg.fft_weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    train = DataLoader(TensorDataset(*torch.load("sr_train.pt")), cfg.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("sr_valid.pt")), cfg.batch_size)
    for epoch in range(cfg.epochs):
        model.train()
        for lr_img, hr_img in train:
            lr_img, hr_img = lr_img.to(device), hr_img.to(device)
            optimizer.zero_grad()
            out = model(lr_img)
            loss = F.l1_loss(out, hr_img) + fft_loss(out, hr_img)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [F.l1_loss(model(a.to(device)), b.to(device)) for a, b in valid]
        print(epoch, torch.stack(errors).mean().item())


if __name__ == "__main__":
    main(Config())
