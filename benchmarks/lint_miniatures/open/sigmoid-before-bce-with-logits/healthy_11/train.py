import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(4000, 30)
y = (x[:, 0] * x[:, 1] > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(x[:3200], y[:3200]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x[3200:], y[3200:]), batch_size=100)
for epoch in range(50):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        logits = model(xb)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
    model.eval()
    brier = 0.0
    with torch.no_grad():
        for xb, yb in val_loader:
            probs = torch.sigmoid(model(xb))
            brier += ((probs - yb) ** 2).mean().item()
    print(epoch, brier / len(val_loader))
