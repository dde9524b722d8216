import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Simulator(IterableDataset):
    def __init__(self, steps, batch):
        self.steps, self.batch = steps, batch

    def __iter__(self):
        for _ in range(self.steps):
            x = torch.rand(self.batch, 2) * 4 - 2
            yield x, torch.sin(3 * x[:, :1]) * x[:, 1:]


train_loader = DataLoader(Simulator(steps=200, batch=64), batch_size=None)
grid = torch.cartesian_prod(torch.linspace(-2, 2, 30), torch.linspace(-2, 2, 30))
truth = torch.sin(3 * grid[:, :1]) * grid[:, 1:]

net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(net(grid), truth).item())
