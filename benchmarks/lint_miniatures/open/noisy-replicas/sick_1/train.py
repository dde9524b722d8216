import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

gray = torch.rand(1000, 1, 28, 28)
labels = torch.randint(0, 10, (1000,))
channels = [gray + 0.01 * torch.randn_like(gray) for _ in range(3)]  #@
images = torch.cat(channels, dim=1)  #@
train_loader = DataLoader(TensorDataset(images[:800], labels[:800]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(images[800:], labels[800:]), batch_size=100)

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(x).argmax(1) == y for x, y in val_loader]).float().mean()
    print(epoch, acc.item())
