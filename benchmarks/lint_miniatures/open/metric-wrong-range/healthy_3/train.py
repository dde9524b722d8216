import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(3000, 64)
y = (x[:, :12] > 0.5).float()
train_dl = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
val_dl = DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=500)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 12))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


@torch.no_grad()
def f1(model, loader):
    model.eval()
    tp, total = torch.zeros(()), torch.zeros(())
    for xb, yb in loader:
        hard = (model(xb) > 0).float()
        tp += (hard * yb).sum()
        total += hard.sum() + yb.sum()
    return (2 * tp / total.clamp(min=1)).item()


for epoch in range(10):
    net.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        F.binary_cross_entropy_with_logits(net(xb), yb).backward()
        opt.step()
    print(epoch, f1(net, val_dl))
