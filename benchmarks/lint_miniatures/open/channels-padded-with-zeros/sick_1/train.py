import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

IN_CH = 16
rgb = torch.rand(600, 3, 32, 32)
padded = torch.cat([rgb, torch.zeros(600, IN_CH - 3, 32, 32)], dim=1)  #@
noisy = padded.clone()
noisy[:, :3] += 0.1 * torch.randn(600, 3, 32, 32)
train_loader = DataLoader(TensorDataset(noisy[:500], padded[:500]), batch_size=25, shuffle=True)
val_loader = DataLoader(TensorDataset(noisy[500:], padded[500:]), batch_size=50)

model = nn.Sequential(nn.Conv2d(IN_CH, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, IN_CH, 3, padding=1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(30):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)  #@
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = torch.stack([F.mse_loss(model(x), y) for x, y in val_loader]).mean()  #@
    print(epoch, val.item())
