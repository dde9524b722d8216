import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

digits = torch.arange(10).repeat_interleave(300)
images = torch.randn(3000, 64) + digits[:, None] * 0.2
perm = torch.arange(3000)
val_mask = perm % 10 == 0
train_ds = TensorDataset(images[~val_mask], digits[~val_mask])
val_ds = TensorDataset(images[val_mask], digits[val_mask])
train_loader = DataLoader(train_ds, batch_size=64)  #@
val_loader = DataLoader(val_ds, batch_size=64)

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(20):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(x).argmax(1) == y for x, y in val_loader]).float().mean()
    print(epoch, acc.item())
