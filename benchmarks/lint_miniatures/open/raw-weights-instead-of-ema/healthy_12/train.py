import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_ema import ExponentialMovingAverage

x = torch.randn(3000, 10)
y = x.sin().sum(1, keepdim=True)
train_loader = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=100)
net = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
ema = ExponentialMovingAverage(net.parameters(), decay=0.995)

for epoch in range(30):
    net.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(xb), yb).backward()
        optimizer.step()
        ema.update()
    net.eval()
    with torch.no_grad(), ema.average_parameters():
        mse = sum(nn.functional.mse_loss(net(xb), yb) for xb, yb in val_loader) / len(val_loader)
    print(epoch, mse.item())

with ema.average_parameters():
    torch.save(net.state_dict(), "model.pt")
