import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(2000, 16), torch.randint(0, 4, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
ema_model = copy.deepcopy(model).requires_grad_(False)  #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ema_decay = 0.999

best_acc = 0.0
for epoch in range(40):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
        with torch.no_grad():
            for pe, p in zip(ema_model.parameters(), model.parameters()):
                pe.lerp_(p, 1 - ema_decay)
    model.eval()  #@
    with torch.no_grad():
        acc = torch.cat([model(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean().item()  #@
    if acc > best_acc:
        best_acc = acc
        torch.save(model.state_dict(), "best.pt")  #@
