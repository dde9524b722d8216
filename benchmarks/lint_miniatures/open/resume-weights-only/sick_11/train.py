import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = "checkpoint.pth"
model = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)
start_epoch = 0

if os.path.exists(CKPT): #@
    checkpoint = torch.load(CKPT) #@
    model.load_state_dict(checkpoint["model"]) #@
    start_epoch = checkpoint["epoch"] #@
    print(f"resuming from epoch {start_epoch}")

data = TensorDataset(torch.randn(8000, 100), torch.randint(0, 10, (8000,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
for epoch in range(start_epoch, 200):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    scheduler.step()
    torch.save({"model": model.state_dict(), "epoch": epoch + 1}, CKPT) #@
