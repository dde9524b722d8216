import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

clean = torch.rand(800, 3, 32, 32)
noisy = (clean + 0.1 * torch.randn_like(clean)).clamp(0, 1)
train_loader = DataLoader(TensorDataset(noisy[:700], clean[:700]), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(noisy[700:], clean[700:]), batch_size=20)
model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def calc_psnr(pred, target):
    mse = torch.mean((pred - target) ** 2)
    return 20 * math.log10(255.0) - 10 * torch.log10(mse)  #@


for epoch in range(25):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        F.l1_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        psnr = torch.stack([calc_psnr(model(x).clamp(0, 1), y) for x, y in val_loader]).mean()  #@
    print(f"epoch {epoch} PSNR {psnr.item():.2f} dB")
