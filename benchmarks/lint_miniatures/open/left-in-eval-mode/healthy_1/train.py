import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

X = torch.randn(3000, 12)
Y = torch.sin(X).sum(1, keepdim=True)
train_loader = DataLoader(TensorDataset(X[:2500], Y[:2500]), batch_size=50, shuffle=True)
valid_loader = DataLoader(TensorDataset(X[2500:], Y[2500:]), batch_size=100)
net = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 1))
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def validate(model):
    mode = model.training
    model.eval()
    total = torch.zeros(())
    with torch.no_grad():
        for xb, yb in valid_loader:
            total += loss_fn(model(xb), yb) * xb.size(0)
    model.train(mode)
    return total.item() / 500


step = 0
net.train()
for epoch in range(30):
    for xb, yb in train_loader:
        opt.zero_grad()
        loss_fn(net(xb), yb).backward()
        opt.step()
        step += 1
        if step % 25 == 0:
            print(step, validate(net))
