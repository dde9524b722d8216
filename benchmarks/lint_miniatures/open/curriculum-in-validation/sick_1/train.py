import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 40
clean = torch.rand(1200, 1, 28, 28)
train_loader = DataLoader(TensorDataset(clean[:1000]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(clean[1000:]), batch_size=100)
net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def add_noise(x, epoch):  #@
    sigma = 0.05 + 0.45 * min(1.0, epoch / (0.5 * EPOCHS))  #@
    return x + sigma * torch.randn_like(x)


best = float("inf")
for epoch in range(EPOCHS):
    net.train()
    for (x,) in train_loader:
        opt.zero_grad()
        loss = F.mse_loss(net(add_noise(x, epoch)), x)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        val = torch.stack([F.mse_loss(net(add_noise(x, epoch)), x) for (x,) in val_loader]).mean().item()  #@
    if val < best:
        best = val
        torch.save(net.state_dict(), "best.pt")
    print(epoch, val)
