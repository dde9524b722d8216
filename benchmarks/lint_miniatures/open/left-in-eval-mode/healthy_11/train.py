import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def validate(model, loader):
    training = model.training
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.cross_entropy(model(x), y, reduction="sum").item()
    model.train(training)
    return total / len(loader.dataset)


x, y = torch.randn(4000, 40), torch.randint(0, 6, (4000,))
train_loader = DataLoader(TensorDataset(x[:3500], y[:3500]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x[3500:], y[3500:]), batch_size=250)
model = nn.Sequential(nn.Linear(40, 100), nn.ReLU(), nn.Dropout(0.5), nn.Linear(100, 6))
opt = torch.optim.Adam(model.parameters())

model.train()
step = 0
for epoch in range(10):
    for xb, yb in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
        step += 1
        if step % 50 == 0:
            print(step, validate(model, val_loader))
