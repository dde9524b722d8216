import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, SIGMA_MAX = 40, 0.5
clean = torch.rand(1200, 1, 28, 28)
val_noise = torch.randn(200, 1, 28, 28, generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(TensorDataset(clean[:1000]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(clean[1000:], val_noise), batch_size=100)
net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def sigma_at(epoch):
    return 0.05 + (SIGMA_MAX - 0.05) * min(1.0, epoch / (0.5 * EPOCHS))


for epoch in range(EPOCHS):
    net.train()
    for (x,) in train_loader:
        opt.zero_grad()
        F.mse_loss(net(x + sigma_at(epoch) * torch.randn_like(x)), x).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        val = torch.stack([F.mse_loss(net(x + SIGMA_MAX * n), x) for x, n in val_loader]).mean()
    print(epoch, val.item())
