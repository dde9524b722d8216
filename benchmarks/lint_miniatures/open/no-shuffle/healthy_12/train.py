import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset


class RandomWindows(IterableDataset):
    def __init__(self, series, length=64):
        self.series, self.length = series, length

    def __iter__(self):
        gen = torch.Generator().manual_seed(torch.initial_seed() % 2**31)
        while True:
            i = torch.randint(0, len(self.series) - self.length - 1, (), generator=gen)
            yield self.series[i : i + self.length], self.series[i + self.length]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, w):
        return self.net(w).squeeze(-1)


loader = iter(DataLoader(RandomWindows(torch.randn(100_000).cumsum(0) / 300), batch_size=128, num_workers=2))
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
for step in range(5000):
    window, target = next(loader)
    loss = nn.functional.mse_loss(model(window), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print(step, loss.item())
