import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MAX_NORM = 0.5
best = math.inf

model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
x_all, y_all = torch.randn(2500, 8), torch.randn(2500, 1)
loader = DataLoader(TensorDataset(x_all[:2000], y_all[:2000]), batch_size=32, shuffle=True)

for epoch in range(10):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM, norm_type=float("inf"))
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_all[2000:]), y_all[2000:]).item()
    if val < best:
        best = val
        torch.save(model.state_dict(), "best.pt")
    print(f"epoch {epoch} val {val:.4f} last grad norm {norm.item():.4f}")
