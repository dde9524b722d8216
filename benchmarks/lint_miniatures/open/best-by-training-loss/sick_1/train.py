import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(1500, 24), torch.randint(0, 3, (1500,))
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

best_loss = float("inf")
for epoch in range(50):
    model.train()
    running = torch.zeros(())
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.detach()
    epoch_loss = running.item() / len(train_loader)  #@

    model.eval()
    with torch.no_grad():
        val_loss = torch.stack([F.cross_entropy(model(xb), yb) for xb, yb in val_loader]).mean().item()
    print(f"{epoch} train {epoch_loss:.4f} val {val_loss:.4f}")
    if epoch_loss < best_loss:  #@
        best_loss = epoch_loss  #@
        torch.save(model.state_dict(), "best_model.pth")  #@
