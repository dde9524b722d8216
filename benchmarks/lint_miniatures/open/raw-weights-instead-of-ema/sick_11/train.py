import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(5000, 20), torch.randint(0, 5, (5000,))
train_loader = DataLoader(TensorDataset(x[:4500], y[:4500]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[4500:], y[4500:]), batch_size=100)
model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 5))
ema_model = copy.deepcopy(model).requires_grad_(False) #@
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


@torch.no_grad()
def update_ema(decay=0.999):
    for e, p in zip(ema_model.parameters(), model.parameters()):
        e.lerp_(p, 1 - decay)


best = 0.0
for epoch in range(50):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
        update_ema() #@
    model.eval() #@
    with torch.no_grad():
        acc = sum((model(xb).argmax(1) == yb).sum() for xb, yb in val_loader).item() / 500 #@
    if acc > best:
        best = acc
        torch.save(model.state_dict(), "best_ema.pt") #@
    print(epoch, acc)
