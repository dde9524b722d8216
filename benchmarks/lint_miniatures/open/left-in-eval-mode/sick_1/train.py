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

net.train()  #@
for epoch in range(30):  #@
    for xb, yb in train_loader:  #@
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()

    net.eval()  #@
    with torch.no_grad():
        total = torch.zeros(())
        for xb, yb in valid_loader:
            total += loss_fn(net(xb), yb) * xb.size(0)
    print(f"epoch {epoch:02d} valid {total.item() / 500:.5f}")
