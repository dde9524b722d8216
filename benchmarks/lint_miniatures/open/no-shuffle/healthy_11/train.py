import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

x = torch.randn(4000, 32)
y = (torch.rand(4000) < 0.08).long()
train = TensorDataset(x[:3200], y[:3200])
counts = torch.bincount(y[:3200]).float()
sampler = WeightedRandomSampler((1 / counts)[y[:3200]], num_samples=3200)
train_loader = DataLoader(train, batch_size=64, sampler=sampler)
val_loader = DataLoader(TensorDataset(x[3200:], y[3200:]), batch_size=200, shuffle=False)

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        recall = sum(((model(xb).argmax(1) == 1) & (yb == 1)).sum() for xb, yb in val_loader)
    print(epoch, recall.item() / max(1, y[3200:].sum().item()))
torch.save(model.state_dict(), "rare_event.pt")
