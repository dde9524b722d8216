import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, criterion, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x), y).item()
    return total / len(loader)


x, y = torch.randn(2000, 16), torch.randint(0, 3, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
best_loss = float("inf")
for epoch in range(30):
    model.train()
    for xb, yb in train_loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    loss = evaluate(model, criterion, test_loader)
    if loss < best_loss:
        best_loss = loss
        torch.save(model.state_dict(), "best.pt")
