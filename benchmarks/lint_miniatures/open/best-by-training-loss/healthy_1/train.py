import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, optimizer):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


@torch.no_grad()
def test_epoch(model, loader):
    model.eval()
    return torch.stack([F.cross_entropy(model(x), y) for x, y in loader]).mean().item()


x, y = torch.randn(1500, 24), torch.randint(0, 3, (1500,))
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best_loss = float("inf")
for epoch in range(50):
    train_loss = train_epoch(model, train_loader, optimizer)
    loss = test_epoch(model, val_loader)
    print(epoch, train_loss, loss)
    if loss < best_loss:
        best_loss = loss
        torch.save(model.state_dict(), "best.pth")
