import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, mean, std, length=48):
        self.series, self.length = (series - mean) / std, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        return self.series[i:i + self.length], self.series[i + self.length]


t = torch.arange(4000) / 24
series = 300 + 50 * torch.sin(t) + 5 * torch.randn(4000)
train, val = series[:3200], series[3200:]
stats = {"mean": train.mean(), "std": train.std()}
train_dl = DataLoader(Windows(train, **stats), batch_size=32, shuffle=True)
val_dl = DataLoader(Windows(val, **stats), batch_size=64)
net = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    net.train()
    for x, y in train_dl:
        opt.zero_grad()
        nn.functional.mse_loss(net(x).squeeze(1), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        mae = torch.cat([(net(x).squeeze(1) - y).abs() for x, y in val_dl]).mean() * stats["std"]
    print(epoch, mae.item())
    torch.save({"model": net.state_dict(), **stats}, "forecaster.pt")
