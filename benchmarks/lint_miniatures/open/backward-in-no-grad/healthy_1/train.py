import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run_epoch(model, loader, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = torch.zeros(())
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.detach()
    return (total / len(loader)).item()


x, y = torch.randn(1000, 8), torch.randn(1000, 1)
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=20)
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    print(epoch, run_epoch(model, train_loader, optimizer), run_epoch(model, val_loader))
