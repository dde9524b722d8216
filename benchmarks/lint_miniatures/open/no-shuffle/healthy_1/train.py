import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

y = (torch.rand(3000) < 0.1).long()
x = torch.randn(3000, 20) + y[:, None]
train_ds, val_ds = TensorDataset(x[:2500], y[:2500]), TensorDataset(x[2500:], y[2500:])
counts = torch.bincount(y[:2500], minlength=2).float()
sampler = WeightedRandomSampler((1.0 / counts)[y[:2500]], num_samples=2500, replacement=True)
train_loader = DataLoader(train_ds, batch_size=50, sampler=sampler)
val_loader = DataLoader(val_ds, batch_size=100, shuffle=False)

model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean()
    print(epoch, acc.item())
