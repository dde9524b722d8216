import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, CKPT = 90, "last.pth"
x, y = torch.randn(4000, 32), torch.randint(0, 10, (4000,))
train_loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)

start_epoch = 0
if os.path.isfile(CKPT):
    ckpt = torch.load(CKPT, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    scheduler.load_state_dict(ckpt["scheduler"])  #@
    start_epoch = ckpt["epoch"] + 1
    for _ in range(start_epoch):  #@
        scheduler.step()  #@

model.train()
for epoch in range(start_epoch, EPOCHS):
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
    scheduler.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "epoch": epoch}, CKPT)
