import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def fft_loss(pred, target, norm="ortho"):
    p = torch.view_as_real(torch.fft.fft2(pred, norm=norm))
    t = torch.view_as_real(torch.fft.fft2(target, norm=norm))
    return F.l1_loss(p, t)


def main(l1_weight=1.0, fft_weight=0.2, epochs=60):
    clean = torch.rand(240, 3, 128, 128)
    data = TensorDataset((clean + 0.1 * torch.randn_like(clean)).clamp(0, 1), clean)
    loader = DataLoader(data, batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for epoch in range(epochs):
        for x, y in loader:
            pred = net(x)
            loss = l1_weight * F.l1_loss(pred, y) + fft_weight * fft_loss(pred, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
