import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_step(model, x, y, optimizer):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += nn.functional.cross_entropy(model(x), y)
    return (total / len(loader)).item()


x, y = torch.randn(1500, 10), torch.randint(0, 3, (1500,))
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=30, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=30)
model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
history = []
for epoch in range(10):
    model.train()
    for xb, yb in train_loader:
        history.append(train_step(model, xb, yb, optimizer))
    print(epoch, torch.stack(history[-40:]).mean().item(), evaluate(model, val_loader))
