import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpectralL1(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = 1 / math.sqrt(size * size)

    def forward(self, pred, target):
        diff = torch.fft.rfft2(pred - target) * self.scale
        return diff.abs().mean()


size = 128
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
spectral = SpectralL1(size)
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
loader = DataLoader(TensorDataset(torch.rand(2000, 3, size, size)), batch_size=16, shuffle=True)
net.train()
for epoch in range(50):
    for (gt,) in loader:
        out = net(gt + 0.1 * torch.randn_like(gt))
        loss = F.l1_loss(out, gt) + 0.2 * spectral(out, gt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
