import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ema import EMA


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return torch.stack([nn.functional.l1_loss(model(a), b) for a, b in loader]).mean().item()


def main():
    b = torch.rand(600, 3, 24, 24)
    a = b + 0.05 * torch.randn_like(b)
    train_dl = DataLoader(TensorDataset(a[:500], b[:500]), batch_size=20, shuffle=True)
    val_dl = DataLoader(TensorDataset(a[500:], b[500:]), batch_size=50)
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    ema = EMA(model)
    for epoch in range(30):
        model.train()
        for noisy, clean in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(model(noisy), clean).backward()
            opt.step()
            ema.update(model)
        ema.apply_shadow(model)  #@
        ema.restore(model)  #@
        print("ema val l1", evaluate(model, val_dl))  #@


if __name__ == "__main__":
    main()
