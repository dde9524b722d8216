import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def accuracy(net, loader):
    net.eval()
    with torch.no_grad():
        return torch.cat([net(xb).argmax(1) == yb for xb, yb in loader]).float().mean().item()


x, y = torch.randn(2000, 16), torch.randint(0, 4, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
ema_model = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best = 0.0
for epoch in range(100):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
        with torch.no_grad():
            for pe, p in zip(ema_model.parameters(), model.parameters()):
                pe.lerp_(p, 0.005)
    raw_acc, ema_acc = accuracy(model, val_loader), accuracy(ema_model, val_loader)
    print(f"{epoch} raw {raw_acc:.4f} ema {ema_acc:.4f}")
    if ema_acc > best:
        best = ema_acc
        torch.save(ema_model.state_dict(), "best_ema.pt")
