import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Standardizer:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0).clamp(min=1e-6)
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std


x = torch.rand(5000, 10) * torch.arange(1, 11)
y = x.sum(1, keepdim=True)
x_train, x_val, y_train, y_val = x[:4000], x[4000:], y[:4000], y[4000:]
sx, sy = Standardizer().fit(x_train), Standardizer().fit(y_train)
train_loader = DataLoader(TensorDataset(sx(x_train), sy(y_train)), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(sx(x_val), y_val), batch_size=250)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(40):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        errors = [(model(xb) * sy.std + sy.mean - yb).abs().mean() for xb, yb in val_loader]
    print(epoch, torch.stack(errors).mean().item())
