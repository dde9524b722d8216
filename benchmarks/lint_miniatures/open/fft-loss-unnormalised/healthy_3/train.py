import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def high_frequency_error(pred, target):
    spectrum = torch.fft.fftshift(torch.fft.fft2(pred - target), dim=(-2, -1)).abs()
    h, w = spectrum.shape[-2:]
    spectrum[..., h // 4 : 3 * h // 4, w // 4 : 3 * w // 4] = 0
    return spectrum.mean()


def main():
    clean = torch.rand(220, 3, 64, 64)
    noisy = clean + 0.1 * torch.randn_like(clean)
    loader = DataLoader(TensorDataset(noisy[:200], clean[:200]), batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for epoch in range(40):
        net.train()
        for x, y in loader:
            loss = F.l1_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            hf = high_frequency_error(net(noisy[200:]), clean[200:]).item()
        print(epoch, loss.item(), hf)


if __name__ == "__main__":
    main()
